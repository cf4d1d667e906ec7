import { describe, expect, it } from 'vitest'
import { DNS_SUBDOMAIN, dnsLabel, objectName } from './shared.ts'

/** As in Kubernetes, k8s.io/apimachinery/pkg/util/validation. */
const KUBERNETES_LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/
const KUBERNETES_SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/

/** All texts of up to `length` of these characters. */
function textsOf(characters: string, length: number): string[] {
  if (length === 0) return ['']
  const shorter = textsOf(characters, length - 1)
  return ['', ...shorter.flatMap((text) => [...characters].map((character) => text + character))]
}

describe('a name', () => {
  it('is what Kubernetes takes for one, although the rule is shorter', () => {
    const texts = new Set(textsOf('a1-.A', 6))
    const taken = [...texts].filter((text) => KUBERNETES_SUBDOMAIN.test(text))
    expect(taken.length).toBeGreaterThan(500)
    expect([...texts].filter((text) => new RegExp(DNS_SUBDOMAIN).test(text))).toEqual(taken)
    expect([...texts].filter((text) => objectName().safeParse(text).success)).toEqual(taken)
    const labels = [...texts].filter((text) => KUBERNETES_LABEL.test(text))
    expect([...texts].filter((text) => dnsLabel().safeParse(text).success)).toEqual(labels)
  })

  it('is no longer than Kubernetes allows', () => {
    expect([63, 64].map((length) => dnsLabel().safeParse('a'.repeat(length)).success)).toEqual([true, false])
    expect([253, 254].map((length) => objectName().safeParse('a'.repeat(length)).success)).toEqual([true, false])
  })
})
