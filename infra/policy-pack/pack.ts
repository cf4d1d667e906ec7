import { PolicyPack } from '@pulumi/policy'
import { POLICIES } from './policies.ts'

new PolicyPack('open-terrain', { enforcementLevel: 'mandatory', policies: [...POLICIES] })
