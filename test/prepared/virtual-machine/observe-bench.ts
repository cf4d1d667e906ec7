import { POLICY_DEFAULTS } from '@open-terrain/constructs/operator'
import { observeMachine } from '../../../operator/controllers/virtual-machine/observe.ts'
import type { MachineView, MachineWorld } from '../../../operator/controllers/virtual-machine/world.ts'
import type { ClaimsOn } from '../../../operator/images/references.ts'
import { aNamespace, CachesBench } from './machine-caches.ts'
import { aVM, cloudInitOf } from './machine-objects.ts'

export const GOING = { deletionTimestamp: '2026-01-01T00:00:00Z' }

/** Builds caches with the namespaces of machines and images, and `look`, which observes a machine in them. */
export function build() {
  const bench = new CachesBench()
  bench.put(bench.namespaces, aNamespace('team'))
  bench.put(bench.namespaces, aNamespace('farm'))
  const look = (vm: MachineView = aVM(), claimsOn: ClaimsOn = () => []): MachineWorld =>
    observeMachine(vm, bench.caches, {
      policy: POLICY_DEFAULTS,
      cloudInit: cloudInitOf(vm),
      refusal: undefined,
      serverNow: undefined,
      claimsOn,
    })
  return { bench, look, caches: bench.caches }
}
