"""What the browser's tests share as plain values: a document that was made to do harm."""

HARM = "<img src=x onerror='window.harmed=1'><script>window.harmed=1</script><svg onload='window.harmed=1'>"
HARMFUL = {
    "id": f"harm/{HARM[:44]}.md",
    "title": f"Zorblatt manual {HARM}",
    "text": f"# Zorblatt {HARM}\n\nThe Zorblatt engine was built in Quillonia. {HARM}\n\n"
    "[open](javascript:window.harmed=1) ![x](javascript:window.harmed=1)\n\n[1]: javascript:window.harmed=1\n",
    "source": f"/files/{HARM[:20]}.md",
}
