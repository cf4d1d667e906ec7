import { type Component, ready } from './component.ts'

/** What is not to be deployed: it is not created, and what exists stays as it is. */
export function heldByDeploy({
  ignoreOnDeploy,
}: {
  readonly ignoreOnDeploy?: boolean | undefined
}): Pick<Component, 'held'> {
  if (ignoreOnDeploy !== true) return {}
  const absent = ready('ignoreOnDeploy is true: it is not created', 'IgnoredOnDeploy')
  const present = ready('it was deployed before ignoreOnDeploy became true: it is left as it is', 'NotDeployedAnyMore')
  return { held: { absent, present } }
}
