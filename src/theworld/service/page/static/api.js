// The service's HTTP API: envelopes opened, errors as readable text, streams as events.

/** What went wrong, in the words of the server. */
export class ApiError extends Error {
  constructor(message, code = 0, status = 0, data = null, traceId = "") {
    super(message);
    Object.assign(this, { code, status, data, traceId, needsKey: status === 401 });
  }
}

export class Api {
  /** onKeyNeeded(reason) is called when the server wants a key. */
  constructor(onKeyNeeded) {
    this.language = "en";
    this.onKeyNeeded = onKeyNeeded;
    this.needsKey = false;  // until the server has asked for one
    this.key = sessionStorage.getItem("theworld.key") || "";
    this.tenant = sessionStorage.getItem("theworld.tenant") || "";
  }

  /** Keep key and tenant for this tab only. */
  signIn(key, tenant) {
    Object.assign(this, { key, tenant });
    sessionStorage.setItem("theworld.key", key);
    sessionStorage.setItem("theworld.tenant", tenant);
  }

  /** GET a path of the API, e.g. get("/api/v1/documents", {search: "x"}); returns data, or throws ApiError. */
  get(path, query = {}, options = {}) {
    const given = Object.entries(query).filter(([, value]) => value !== null && value !== undefined && value !== "");
    const search = given.length ? `?${new URLSearchParams(given)}` : "";
    return this.send("GET", path + search, undefined, options);
  }

  /** POST JSON (or FormData); returns data, or throws ApiError. */
  post(path, body, options = {}) {
    return this.send("POST", path, body, options);
  }

  /** Send any request: options.signal aborts it. */
  async send(method, path, body, options = {}) {
    const reply = await this.fetch(method, path, body, options);
    if (reply.status === 204) return null;
    return (await this.opened(reply)).data;
  }

  /** POST and hand every server-sent event to on(kind, data) as it comes; resolves when the stream has ended. */
  async stream(path, body, { signal, on }) {
    const reply = await this.fetch("POST", path, body, { signal });
    if (!reply.ok || !(reply.headers.get("content-type") || "").startsWith("text/event-stream")) {
      await this.opened(reply);
      return;
    }
    const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const events = (rest + value).split("\n\n");
      rest = events.pop();
      for (const event of events) this.hand(event, on);
    }
  }

  hand(event, on) {
    const lines = event.split("\n");
    const kind = lines.find((line) => line.startsWith("event:"))?.slice(6).trim();
    const data = lines.filter((line) => line.startsWith("data:")).map((line) => line.slice(5).replace(/^ /, "")).join("\n");
    if (kind) on(kind, JSON.parse(data));
  }

  async fetch(method, path, body, { signal, headers = {} } = {}) {
    const sent = { "Accept-Language": this.language, ...headers };
    if (this.key) sent.Authorization = `Bearer ${this.key}`;
    if (this.tenant) sent["X-Tenant-Id"] = this.tenant;
    const isJson = body !== undefined && !(body instanceof FormData) && !(body instanceof Blob);
    if (isJson) sent["Content-Type"] = "application/json";
    try {
      return await fetch(path, { method, headers: sent, body: isJson ? JSON.stringify(body) : body, signal });
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new ApiError(this.language === "zh" ? "无法连接到服务器。" : "The server cannot be reached.");
    }
  }

  async opened(reply) {
    let envelope;
    try {
      envelope = await reply.json();
    } catch {
      throw new ApiError(`HTTP ${reply.status}`, 0, reply.status);
    }
    if (reply.ok && envelope.code === 0) return envelope;
    const error = new ApiError(envelope.message || `HTTP ${reply.status}`, envelope.code, reply.status, envelope.data, envelope.trace_id);
    if (error.needsKey) this.onKeyNeeded(error.message);
    throw error;
  }
}
