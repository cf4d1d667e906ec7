import { type Component, componentReady } from './component.ts'

/** What is not to be deployed: it is not created, and what exists stays as it is. */
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
