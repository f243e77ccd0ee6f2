# The service in a container, with everything embedded:
#
#   docker build -t theworld . && docker run --name theworld -p 127.0.0.1:8321:8321 -v theworld:/data theworld
#   docker exec theworld theworld keys create        # requests from outside the container need a key
#
# With servers for the indexes beside it: `docker compose --profile service up --wait` (compose.yaml).
FROM python:3.12-slim AS build
WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY graph graph
COPY nodes nodes
COPY prompts prompts
COPY state state
COPY src src
RUN python -m venv /opt/theworld
RUN /opt/theworld/bin/pip install --no-cache-dir --disable-pip-version-check ".[documents,ontology,postgres,service,sql,structured]"

FROM python:3.12-slim
RUN useradd --uid 10001 --create-home theworld && install --directory --owner=theworld /data
COPY --from=build /opt/theworld /opt/theworld
ENV PATH=/opt/theworld/bin:$PATH
ENV THEWORLD_STORE=/data/store
ENV THEWORLD_SERVICE__HOST=0.0.0.0
USER theworld
WORKDIR /data
VOLUME /data
EXPOSE 8321
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s CMD python -c "import urllib.request as web; web.urlopen('http://127.0.0.1:8321/readyz', timeout=4)"
ENTRYPOINT ["theworld"]
CMD ["serve"]
