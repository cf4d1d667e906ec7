import { z } from 'zod'
import { matching } from './shared.ts'

const IMAGE = '^[!-~]+$'
const IMAGE_MAX = 512

/** Reference of a container image. What else is wrong with it, the kubelet says. */
export function imageReference(description: string): z.ZodString {
  return matching(
    z.string().min(1).max(IMAGE_MAX),
    IMAGE,
    'must be the reference of a container image such as ghcr.io/demo/app:1.0.2, without blanks',
  ).describe(description)
}
