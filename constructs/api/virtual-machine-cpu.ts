import { celMatches } from '../schema/cel.ts'
import { cel, intOrString } from './shared.ts'

/** More than KubeVirt can start on any current node. */
export const CPU_MAX = 512

/** Whole CPUs, up to three decimals, or thousandths: `2`, `1.5`, `500m`. */
export const CPU_PATTERN = '^([0-9]{1,3}([.][0-9]{1,3})?|[0-9]{1,6}m)$'

/** How a number of CPUs is requested from KubeVirt. */
export interface CpuShape {
  /** Virtual CPUs that the guest sees: at least 1. */
  readonly cpus: number
  /** CPU that is reserved on the node, such as `1500m`, if the number is not whole. If absent, KubeVirt reserves its default. */
  readonly request?: string
}

/**
 * KubeVirt supports only whole CPUs. A fraction is rounded up for the guest, and its exact value becomes the request.
 * @param cpu `spec.resources.cpu` of an accepted spec
 */
export function cpuShape(cpu: string): CpuShape {
  const millis = cpuMillis(cpu)
  if (millis === undefined) throw new Error(`cpu ${JSON.stringify(cpu)} is no number of CPUs: check the spec first`)
  const cpus = Math.max(1, Math.ceil(millis / 1000))
  return millis % 1000 === 0 ? { cpus } : { cpus, request: `${millis}m` }
}

/** Returns thousandths of a CPU, or undefined if the text is not a number of CPUs. */
export function cpuMillis(cpu: string): number | undefined {
  if (!new RegExp(CPU_PATTERN).test(cpu)) return undefined
  return cpu.endsWith('m') ? Number(cpu.slice(0, -1)) : Math.round(Number(cpu) * 1000)
}

/** CPUs in the manifest, as an integer or a string, read as a string. */
export function cpuField(description: string) {
  const cpu = cel(
    intOrString({
      description,
      pattern: CPU_PATTERN,
      maxLength: 8,
      error: "must be a number of CPUs such as 2, '1.5' (in quotes) or 500m",
    }),
    {
      rule:
        `type(self) == int ? self >= 1 && self <= ${CPU_MAX} : !${celMatches('self', CPU_PATTERN)} || ` +
        `quantity(self).compareTo(quantity('1m')) >= 0 && quantity(self).compareTo(quantity('${CPU_MAX}')) <= 0`,
      message: `cpu must be between 1m and ${CPU_MAX}`,
      holds: (value: string | number) => {
        if (typeof value === 'number') return value >= 1 && value <= CPU_MAX
        const millis = cpuMillis(value)
        return millis === undefined || (millis >= 1 && millis <= CPU_MAX * 1000)
      },
    },
  )

  return cpu.transform(String)
}
