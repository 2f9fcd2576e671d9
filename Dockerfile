# The program alone: docker build -t ewca . && docker run --rm -v "$PWD:/data" ewca fit table.csv -o results
FROM rust:1.95-slim-bookworm AS build
WORKDIR /src
COPY . .
RUN cargo build --profile shipped --locked -p ewca-cli

FROM debian:bookworm-slim
COPY --from=build /src/target/shipped/ewca /usr/local/bin/ewca
COPY LICENSE-MIT LICENSE-APACHE /usr/share/doc/ewca/
RUN useradd --uid 1000 --create-home ewca
USER 1000
WORKDIR /data
ENTRYPOINT ["ewca"]
CMD ["--help"]
