import { ANNOTATIONS } from '@open-terrain/constructs'
import type { KubeObject } from '../../operator/kube/kube-object.ts'
import { Store } from '../../operator/runtime/store.ts'
import type { Play } from './play.ts'

/** The random values that the operator made. */
export function generatedIn(play: Play): string[] {
  const made = play
    .of(play.world.mirror.secrets)
    .filter(({ metadata }) => metadata.annotations?.[ANNOTATIONS.generatedKeys])
  return made.flatMap(({ data = {} }) => Object.values(data).map((text) => Buffer.from(text, 'base64').toString()))
}

/** Places outside of Secrets where a password can be read, as it is or in base64, alone or within a text. */
export function leaksOf(password: string, play: Play): string[] {
  const forms = [password, ...[0, 1, 2].map((at) => inBase64(password, at))]
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

/** The characters that it alone determines in the base64 of a text where it begins at this byte of a group of three. */
function inBase64(password: string, at: number): string {
  const bytes = Buffer.from(' '.repeat(at) + password)
  return bytes.toString('base64').slice(Math.ceil((at * 8) / 6), Math.floor((bytes.length * 8) / 6))
}
