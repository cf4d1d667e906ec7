import { workspace } from '@open-terrain/constructs/operator'
import { compareTexts } from '../operator/base/messages.ts'
import type { KubeClient } from '../operator/kube/kube-client.ts'
import { checkChoice, type Lab, type LabChoice, leanLab } from './labs.ts'
import { follow } from './live/follow.ts'
import { redraw } from './live/redraw.ts'
import { labsText, type Output } from './show-labs.ts'
import type { Surroundings } from './surroundings.ts'

/** Shows labs at a glance, and each change of them, until somebody interrupts it. Labs that do not exist yet are shown when they do. Throws ApiError. */
export async function watchLabs(
  surroundings: Surroundings & { readonly client: KubeClient },
  { names, selector }: LabChoice,
  output: Output,
  interrupted: AbortSignal,
): Promise<void> {
  const { client, clock } = surroundings
  checkChoice({ names, ...(selector !== undefined && { selector }), all: names.length === 0 && selector === undefined })
  const ended = new AbortController()
  const signal = AbortSignal.any([interrupted, ended.signal])
  const wanted = new Set(names)
  let labs: readonly Lab[] | undefined
  let version = 0
  const take = () => labs && { text: labsText(labs, output, clock.now()), content: labsText(labs, 'json', clock.now()) }
  const shown = redraw(surroundings, { version: () => version, take }, signal)
  try {
    await follow({
      ...{ client, clock, signal, type: workspace, project: leanLab },
      ...(selector !== undefined && { selection: { labelSelector: selector } }),
      onChange: (all) => {
        const chosen = [...all.values()].filter(({ metadata }) => wanted.size === 0 || wanted.has(metadata.name))
        labs = chosen.toSorted((one, other) => compareTexts(one.metadata.name, other.metadata.name))
        version++
      },
    })
  } finally {
    ended.abort()
    await shown
  }
}
