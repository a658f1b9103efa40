#!/bin/sh
# Runs once for each page, in a folder of its own: the files that it leaves there are published when it succeeds.
set -eu
url=
for arg in "$@"; do
  case "$arg" in --url=*) url=${arg#--url=} ;; esac
done

# What earlier plugins made is beside: the page as it was served, for example.
bytes=0
[ ! -f ../html/output.html ] || bytes=$(($(wc -c <../html/output.html)))
printf '%s\n%s bytes\n' "$url" "$bytes" >NAME.txt

# One line of JSON says how it went; a status of `skipped` or `noresults` is no failure.
printf '{"type": "ArchiveResult", "status": "succeeded", "output_str": "%s bytes of HTML"}\n' "$bytes"
