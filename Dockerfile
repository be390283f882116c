# The build of `make demo` on a clean Debian 12, from the same package list:
#   docker build -t tilewright . && docker run --rm tilewright doctor
FROM debian:12 AS build
WORKDIR /tilewright
COPY scripts scripts
RUN scripts/setup.sh build
COPY . .
RUN scripts/build.sh release tilewright_cli

FROM debian:12-slim
RUN apt-get update -qq \
 && apt-get install -qq --no-install-recommends libtbb12 libpng16-16 libsleef3 zlib1g libzstd1 >/dev/null \
 && rm -rf /var/lib/apt/lists/*
COPY --from=build /tilewright/build-release/tilewright /usr/local/bin/tilewright
ENTRYPOINT ["tilewright"]
