import type { KubeObject } from '../../operator/kube/kube-object.ts'
import { Store } from '../../operator/runtime/store.ts'
import type { Play } from './play.ts'

/** Where a password can be read, as it is or in base64, though nobody looks for one there: anywhere but in Secrets. */
export function leaksOf(password: string, play: Play): string[] {
  const forms = [password, Buffer.from(password).toString('base64')]
  const { secrets: _allowed, ...mirrored } = play.world.mirror
  const objects = Object.values(mirrored).flatMap((store) =>
    store instanceof Store ? play.of(store as Store<KubeObject>) : [],
  )
  const requests = play.proxy.seen.filter(({ resource }) => resource !== 'secrets')
  const told = [
    ...play.logs.map((line) => `log: ${line}`),
    ...requests.map(({ verb, resource, body }) => `${verb} ${resource}: ${JSON.stringify(body)}`),
    ...objects.map((object) => `${object.kind} ${object.metadata.name}: ${JSON.stringify(object)}`),
  ]
  return told.filter((text) => forms.some((form) => text.includes(form)))
}
