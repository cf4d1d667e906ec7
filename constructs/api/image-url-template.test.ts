import { describe, expect, it } from 'vitest'
import { fillImageUrl } from './image-url-template.ts'

const WORDS = { image: 'debian-13', name: 'demo-vm', version: '2.1.0', baseVm: 'ubuntu_2004', baseVmVersion: undefined }

describe('fillImageUrl', () => {
  it.each([
    ['https://a.example/{baseVm}/{version}/{name}.qcow2', 'https://a.example/ubuntu_2004/2.1.0/demo-vm.qcow2'],
    ['https://a.example/{name}/{name}', 'https://a.example/demo-vm/demo-vm'],
    ['https://a.example/{image}.qcow2', 'https://a.example/debian-13.qcow2'],
    ['docker://a.example/images:latest', 'docker://a.example/images:latest'],
  ])('of %s is %s', (template, url) => {
    expect(fillImageUrl(template, WORDS)).toEqual({ ok: true, url })
  })

  it('puts values in as they are, whatever they look like', () => {
    expect(fillImageUrl('gs://b/{name}', { ...WORDS, name: '$&{version}' })).toEqual({
      ok: true,
      url: 'gs://b/$&{version}',
    })
  })

  it.each(['baseVmVersion', '__proto__', 'constructor'])('lacks %s', (word) => {
    expect(fillImageUrl(`https://a.example/{name}/{${word}}`, WORDS)).toEqual(
      /_/.test(word)
        ? // Not a placeholder, because it is not a word: the policy refuses it earlier.
          { ok: true, url: `https://a.example/demo-vm/{${word}}` }
        : { ok: false, problem: `it has no ${word}, which the template names` },
    )
  })
})
