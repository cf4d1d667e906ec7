#!/usr/bin/env bash
# Publishes what `npm run release -- --assets` has made. The release workflow calls it, and so can a person who has the credentials.
#
#   publish.sh image FOLDER         push the image with skopeo, as REGISTRY_USER with GH_TOKEN
#   publish.sh npm FOLDER           publish the packages of npm, with provenance
#   publish.sh github FOLDER TAG    publish the files and the text of the release
#
# DRY_RUN=1 prints the commands and runs none of them.
set -euo pipefail

usage() {
  sed -n 's/^#   //p' "$0" >&2
  exit 2
}

run() {
  printf '%s\n' "$*"
  if [[ ${DRY_RUN:-} != 1 ]]; then "$@"; fi
}

what=${1:-} folder=${2:-}
[[ -n $what && -n $folder ]] || usage
(cd "$folder" && sha256sum --check --quiet SHA256SUMS)
# Registry, repository, tag and digest.
image=$(< "$folder/IMAGE")
name=${image%@*} digest=${image#*@}

case $what in
  image)
    registry=${name%%/*}
    if [[ -n ${REGISTRY_USER:-} ]]; then
      run skopeo login --username "$REGISTRY_USER" --password-stdin "$registry" <<< "$GH_TOKEN"
    fi
    # Of all platforms, byte by byte: the digest in the manifests is the one that is pushed.
    run skopeo copy --all --preserve-digests "oci-archive:$(echo "$folder"/*.oci.tar)" "docker://$name"
    if [[ -n ${GITHUB_OUTPUT:-} ]]; then
      printf 'repository=%s\ndigest=%s\n' "${name%:*}" "$digest" >> "$GITHUB_OUTPUT"
    fi
    ;;
  npm)
    # What others need comes first.
    for package in constructs infra cli; do
      run npm publish --provenance --access public "$folder"/open-terrain-"$package"-*.tgz
    done
    ;;
  github)
    tag=${3:-}
    [[ -n $tag ]] || usage
    files=()
    for file in "$folder"/*; do
      if [[ ${file##*/} != NOTES.md ]]; then files+=("$file"); fi
    done
    run gh release create "$tag" --verify-tag --title "$tag" --notes-file "$folder/NOTES.md" "${files[@]}"
    ;;
  *) usage ;;
esac
