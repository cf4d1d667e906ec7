#!/usr/bin/env bash
# Publishes what `npm run release -- --assets` has made. The release workflow calls it, and so can a person who has the credentials.
#
#   publish.sh image FOLDER         push the image with skopeo, as REGISTRY_USER with GH_TOKEN
#   publish.sh npm FOLDER           publish the packages of npm that it does not have, with provenance
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

# is_published PACKAGE FILE: whether npm has these very bytes, from a run that failed later. Other bytes of the same version npm refuses itself.
is_published() {
  if [[ ${DRY_RUN:-} == 1 ]]; then return 1; fi
  local version=${2##*/open-terrain-"$1"-} digest published
  digest=$(openssl dgst -sha512 -binary "$2" | openssl base64 -A)
  published=$(npm view "@open-terrain/$1@${version%.tgz}" dist.integrity 2> /dev/null || true)
  [[ $published == "sha512-$digest" ]]
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
    auth=()
    if [[ -n ${REGISTRY_USER:-} ]]; then
      # Where whoever signs the image looks for it too. By itself skopeo has a file of its own.
      auth=(--authfile "$HOME/.docker/config.json")
      run mkdir -p "$HOME/.docker"
      run skopeo login "${auth[@]}" --username "$REGISTRY_USER" --password-stdin "$registry" <<< "$GH_TOKEN"
    fi
    # Of all platforms, byte by byte: the digest in the manifests is the one that is pushed.
    run skopeo copy "${auth[@]}" --all --preserve-digests "oci-archive:$(echo "$folder"/*.oci.tar)" "docker://$name"
    if [[ -n ${GITHUB_OUTPUT:-} ]]; then
      printf 'repository=%s\ndigest=%s\n' "${name%:*}" "$digest" >> "$GITHUB_OUTPUT"
    fi
    ;;
  npm)
    # What others need comes first.
    for package in constructs infra cli; do
      file=$(echo "$folder"/open-terrain-"$package"-*.tgz)
      if is_published "$package" "$file"; then
        printf '%s is published already\n' "$file"
      else
        run npm publish --provenance --access public "$file"
      fi
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
