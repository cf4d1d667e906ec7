/** On objects that outlive the installation. What applies manifests, such as the Pulumi component, keeps them when it removes the rest. */
export const RETAIN_ANNOTATION = 'pelotech.ot/retain'

/** The same, with the annotations of tools that apply manifests from Git. */
export const RETAINED = {
  [RETAIN_ANNOTATION]: 'true',
  'argocd.argoproj.io/sync-options': 'Prune=false,Delete=false',
  'kustomize.toolkit.fluxcd.io/prune': 'disabled',
}
