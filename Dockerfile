# The control plane as an image: `docker build --tag legation:0.1.0 .`
# Everything but the base comes from the lock files, by hash, and from this tree.

FROM python:3.11-slim AS build
WORKDIR /source
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore
COPY requirements/build.lock requirements/run.lock requirements/
RUN python -m venv tools && tools/bin/python -m pip install --require-hashes --only-binary :all: --requirement requirements/build.lock
RUN python -m venv --without-pip /opt/legation
RUN python -m pip --python /opt/legation/bin/python install --require-hashes --only-binary :all: --requirement requirements/run.lock
COPY pyproject.toml README.md LICENSE ./
COPY legation legation
COPY k8s_watch k8s_watch
COPY translator translator
COPY xds_server xds_server
RUN tools/bin/python -m build --wheel --no-isolation --outdir wheel
RUN python -m pip --python /opt/legation/bin/python install --no-deps --no-index wheel/*.whl
# In a cluster Envoys run in pods of their own; the one for `legation up` is most of the size.
RUN rm -r /opt/legation/lib/python3.11/site-packages/envoy/_bin

FROM python:3.11-slim
COPY --from=build /opt/legation /opt/legation
USER 65532:65532
EXPOSE 18000 19080
ENTRYPOINT ["/opt/legation/bin/legation"]
CMD ["run"]
