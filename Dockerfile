# Build stage: dependencies, the package, and the kernels' machine code.
FROM python:3.11-slim AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
WORKDIR /build
COPY requirements.lock .
RUN python -m venv /opt/rulewood && /opt/rulewood/bin/pip install -r requirements.lock
COPY pyproject.toml README.md ./
COPY learners learners
COPY service service
RUN /opt/rulewood/bin/pip install --no-deps .
# Compiled here, so that the first training in a container does not wait for the compiler. The code
# is for the processor of the build machine; on another kind numba compiles anew, into the same folder.
ENV NUMBA_CACHE_DIR=/opt/rulewood/kernels
RUN /opt/rulewood/bin/rulewood compile

FROM python:3.11-slim
RUN useradd --system --create-home --uid 10001 rulewood && install -d -o rulewood -g rulewood /data
COPY --from=build --chown=rulewood:rulewood /opt/rulewood /opt/rulewood
ENV PATH=/opt/rulewood/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    NUMBA_CACHE_DIR=/opt/rulewood/kernels \
    RULEWOOD_DATA=/data \
    RULEWOOD_HOST=0.0.0.0 \
    RULEWOOD_PORT=8000
USER rulewood
VOLUME /data
EXPOSE 8000
HEALTHCHECK --interval=5s --timeout=3s --start-period=20s --retries=5 \
    CMD ["rulewood", "health"]
ENTRYPOINT ["rulewood"]
CMD ["serve"]
