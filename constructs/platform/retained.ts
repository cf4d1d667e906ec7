/** On objects that outlive the installation. What applies manifests, such as the Pulumi component, keeps them when it removes the rest. */
export const RETAIN_ANNOTATION = 'pelotech.ot/retain'

/** Annotations that have Argo CD and Flux leave an object in the cluster when it leaves Git, or when what applies it is removed. */
export const NOT_PRUNED = {
  'argocd.argoproj.io/sync-options': 'Prune=false,Delete=false',
  'kustomize.toolkit.fluxcd.io/prune': 'disabled',
}

/** Both. */
export const RETAINED = { [RETAIN_ANNOTATION]: 'true', ...NOT_PRUNED }
