import { beforeEach, describe, expect, it } from 'vitest'
import { OtRunner } from '../../test/prepared/cli/ot-runner.ts'
import { storyOf } from '../ui/story.ts'
import { toPaste } from './to-paste.ts'

let ot: OtRunner
beforeEach(() => {
  ot = new OtRunner()
  const status = { observedGeneration: 1, phase: 'Failed', reason: 'NotFound', message: 'no such file' }
  ot.client.put({
    ...{ apiVersion: 'pelotech.ot/v1alpha1', kind: 'VMDiskImage', spec: {}, status },
    metadata: { namespace: 'images', name: 'kali', uid: 'uid', generation: 1 },
  } as never)
})

describe('commands to paste', () => {
  it('name the cluster that the command line has named', async () => {
    await ot.run('why', 'vmdi/kali', '--context', 'my staging', '--kubeconfig', 'k/config')
    expect(ot.printed).toContain(
      "\n  kubectl --kubeconfig k/config --context 'my staging' -n images annotate --overwrite vmdi kali ",
    )
    const key = { namespace: 'images', name: 'kali' }
    const asked = { kind: 'images', key, operatorNamespace: 'sync-operator', now: 0 } as const
    const story = await storyOf(ot.client, { ...asked, cluster: { context: 'staging' } })
    expect(story?.commands).toEqual([
      'ot --context staging why vmdi/kali -n images',
      'kubectl --context staging -n images describe vmdi kali',
    ])
    expect(story?.explanation.causes[0]?.commands[0]).toMatch(/^kubectl --context staging -n images annotate /)
  })

  it('name it each time, and as one word', () => {
    expect(toPaste(['kubectl -n a delete secret b && kubectl -n a create secret'], { context: "x'; id" })).toEqual([
      '# loses the values that it has',
      "kubectl --context 'x'\\''; id' -n a delete secret b && kubectl --context 'x'\\''; id' -n a create secret",
    ])
  })
})
