#!/bin/sh
# Installs qyt into a directory of its own, from a checkout and without any other tool than Node 20 with npm. What
# the image does, and what you run where there is no engine:
#
#   sh deploy/install.sh /opt/qyt
#   /opt/qyt/bin/qyt up --data-dir /var/lib/qyt
#
# The directory has all that qyt needs; the checkout may go afterwards.
set -eu
if [ $# -ne 1 ]; then
  echo "Usage: sh deploy/install.sh DIRECTORY      for example: sh deploy/install.sh /opt/qyt" >&2
  exit 2
fi
checkout=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$1"
target=$(cd "$1" && pwd)
packages=$(mktemp -d)
trap 'rm -rf "$packages"' EXIT

cd "$checkout"
node scripts/bootstrap.mjs
node scripts/pack.mjs --with-dependencies --out "$packages" > /dev/null
cd "$target"
echo '{"private":true}' > package.json
npm install --offline --ignore-scripts --no-audit --no-fund --loglevel=error --cache "$packages/cache" "$packages"/*.tgz
mkdir -p bin
ln -sf ../node_modules/.bin/qyt bin/qyt
echo "Installed $(bin/qyt --version) into $target: $target/bin/qyt up --help"
