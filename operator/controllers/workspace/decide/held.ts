import { type Component, componentReady } from './component.ts'

/** A component with `ignoreOnDeploy` is not created. If it exists, it stays as it is. */
export function heldByDeploy({
  ignoreOnDeploy,
}: {
  readonly ignoreOnDeploy?: boolean | undefined
}): Pick<Component, 'held'> {
  if (ignoreOnDeploy !== true) return {}
  const absent = componentReady('ignoreOnDeploy is true: it is not created', 'IgnoredOnDeploy')
  const present = componentReady(
    'it was deployed before ignoreOnDeploy became true: it is left as it is',
    'NotDeployedAnyMore',
  )
  return { held: { absent, present } }
}
