#!/bin/sh
# sh test.sh: runs the hook as the archiver does.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/html" "$folder/NAME"
printf 'hello' >"$folder/html/output.html"
cd "$folder/NAME"
said=$("$here/HOOK" --url=https://example.com/)
case "$said" in *'"succeeded"'*'5 bytes of HTML'*) ;; *) echo "it said: $said" && exit 1 ;; esac
grep -q '^https://example.com/$' NAME.txt || { echo 'NAME.txt lacks the URL' && exit 1; }
echo ok
