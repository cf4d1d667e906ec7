/** On objects that outlive the installation: what applies manifests, such as the Pulumi component, leaves them in the cluster when it removes the rest. */
export const RETAIN_ANNOTATION = 'pelotech.ot/retain'

/** The same in the words of the tools that apply manifests from Git. */
export const RETAINED = {
  [RETAIN_ANNOTATION]: 'true',
  'argocd.argoproj.io/sync-options': 'Prune=false,Delete=false',
  'kustomize.toolkit.fluxcd.io/prune': 'disabled',
}
