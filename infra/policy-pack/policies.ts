import type { ResourceValidationArgs, ResourceValidationPolicy } from '@pulumi/policy'
import {
  type ConcurrencyRule,
  missingLimits,
  type ObjectProps,
  oddConcurrency,
  privileges,
  unpinnedImages,
  unprotectedCrd,
} from './rules.ts'

type Rule = (props: ObjectProps, args: ResourceValidationArgs) => readonly string[]

function policy(name: string, description: string, rule: Rule): ResourceValidationPolicy {
  return {
    name,
    description,
    validateResource: (args, report) => {
      if (!args.type.startsWith('kubernetes:')) return
      for (const problem of rule(args.props as ObjectProps, args)) report(problem)
    },
  }
}

export const POLICIES: readonly ResourceValidationPolicy[] = [
  policy('images-pinned', 'Container images name their registry, and a digest or a version.', unpinnedImages),
  policy('limits-set', 'Containers request CPU and memory, and have a limit of memory.', missingLimits),
  policy('no-privileges', 'No container is privileged, and no pod has a part of its node.', privileges),
  {
    ...policy(
      'concurrency',
      'The policy of downloads is valid, and lets at least one and not too many run.',
      (props, args) => oddConcurrency(props, args.getConfig<ConcurrencyRule>()),
    ),
    configSchema: {
      properties: {
        maximum: { type: 'integer', minimum: 1, default: 32 },
        mayPause: { type: 'boolean', default: false },
      },
    },
  },
  policy(
    'crds-protected',
    'Pulumi refuses to delete CRDs, with which all objects of their kinds would go.',
    (props, args) => unprotectedCrd(props, args.opts.protect),
  ),
]
