import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { KubeObject } from '../../operator/kube/kube-object.ts'
import { kstatus } from '../harness/gitops-health.ts'
import { goTool } from '../harness/go-tool.ts'

const STANDS = [undefined, 'True', 'False', 'Unknown'] as const
const GENERATION = 3
/** Absent, as before the API server fills it, as it fills it, of an earlier spec, of the present one, and of one that was restored from a backup. */
const OBSERVED = [undefined, -1, 2, GENERATION, 4] as const
const DELETED = [undefined, '2026-01-01T00:00:00Z'] as const
const KINDS = ['VMDiskImage', 'Workspace'] as const

/** Everything that the rules of kstatus read of a kind that it does not know, in all ways that it can be. */
const objects = KINDS.flatMap((kind) =>
  DELETED.flatMap((deletionTimestamp) =>
    OBSERVED.flatMap((observedGeneration) =>
      STANDS.flatMap((reconciling) =>
        STANDS.flatMap((stalled) =>
          STANDS.map((ready): KubeObject => {
            const stands = { Ready: ready, Reconciling: reconciling, Stalled: stalled, Settled: 'True' }
            const conditions = Object.entries(stands).flatMap(([type, status]) =>
              status === undefined ? [] : [{ type, status, reason: 'Why', message: 'what' }],
            )
            const metadata = { name: 'one', generation: GENERATION, ...(deletionTimestamp && { deletionTimestamp }) }
            const status = { ...(observedGeneration && { observedGeneration }), phase: 'Any', conditions }
            return { apiVersion: 'pelotech.ot/v1alpha1', kind, metadata, status } as KubeObject
          }),
        ),
      ),
    ),
  ),
)

describe('the rules of kstatus by which the states of our kinds are judged', () => {
  it('are those of kstatus itself, for every combination of what they read', async () => {
    const program = await goTool({ name: 'kstatus', source: join(import.meta.dirname, 'kstatus'), package: '.' })
    const bare = { ...objects[0], status: undefined } as unknown as KubeObject
    const all = [...objects, bare]
    const input = all.map((object) => JSON.stringify(object)).join('\n')
    const { status, stdout, stderr } = spawnSync(program, { input, encoding: 'utf8' })
    expect(stderr).toBe('')
    expect(status).toBe(0)
    const answers = stdout.trim().split('\n')
    expect(answers).toHaveLength(all.length)
    expect(new Set(answers)).toEqual(new Set(['Current', 'Failed', 'InProgress', 'Terminating']))
    const differing = all.flatMap((object, at) =>
      answers[at] === kstatus(object) ? [] : [`${JSON.stringify(object)}: ${answers[at]}, not ${kstatus(object)}`],
    )
    expect(differing.slice(0, 5)).toEqual([])
  })
})
