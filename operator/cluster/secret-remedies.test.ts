import { describe, expect, it } from 'vitest'
import { type AskedKey, type AwaitedSecret, createCommand, type SecretChange, secretRemedy } from './secret-remedies.ts'

const told = (secrets: readonly AwaitedSecret[], change: SecretChange = 'patch', max = 3_000) =>
  secretRemedy(secrets, { namespace: 'lab', max, change })
const missing = (name: string, by: readonly string[] = []): AwaitedSecret => ({
  name,
  asked: [{ name, key: 'password', placeholder: 'PASSWORD' }],
  by,
})

describe('the command that creates a Secret', () => {
  it('has each key once: of what asks for a key, a password is the strictest and a file may have several lines', () => {
    const asked: AskedKey[] = [
      { name: 'app', key: 'a', placeholder: 'PASSWORD' },
      { name: 'app', key: 'b', placeholder: 'VALUE' },
      { name: 'app', key: 'a', placeholder: 'FILE' },
      { name: 'app', key: 'b', placeholder: 'FILE' },
      { name: 'app', key: 'c' },
    ]
    expect(createCommand('lab', { name: 'app', asked })).toBe(
      'kubectl -n lab create secret generic app --from-literal=a=PASSWORD --from-file=b=FILE --from-literal=c=VALUE',
    )
  })

  it('is that of a login to a registry where images are pulled with it', () => {
    expect(createCommand('lab', { name: 'app', asked: [{ name: 'app', key: 'x' }, { name: 'app' }] })).toBe(
      'kubectl -n lab create secret docker-registry app --docker-server=REGISTRY --docker-username=USER --docker-password=PASSWORD',
    )
  })
})

describe('the remedy', () => {
  it('of a Secret that lacks a key is to delete it and create it with all its keys where it cannot be patched', () => {
    const asked = ['a', 'b'].map((key) => ({ name: 'app', key, placeholder: 'PASSWORD' }) as const)
    expect(told([{ name: 'app', asked, lacks: ['b'], by: ['VirtualMachine a'] }], 'recreate')).toBe(
      '1 Secret is incomplete: app needs one line of text in b (for VirtualMachine a); run: ' +
        'kubectl -n lab delete secret app && kubectl -n lab create secret generic app --from-literal=a=PASSWORD --from-literal=b=PASSWORD',
    )
  })

  it('of a file that a Secret lacks, beside a password, takes the file as it is', () => {
    const asked: AskedKey[] = [
      { name: 'app', key: 'a', placeholder: 'PASSWORD' },
      { name: 'app', key: 'b', placeholder: 'FILE' },
    ]
    expect(told([{ name: 'app', asked, lacks: ['a', 'b'], by: [] }])).toBe(
      '1 Secret is incomplete: app needs one line of text in a and text in b; run: ' +
        'kubectl -n lab patch secret app -p "$(kubectl create secret generic app --from-literal=a=PASSWORD --from-file=b=FILE --dry-run=client -o json)"',
    )
  })

  it('of very many Secrets has the first of them with their commands, and the number of the others', () => {
    const names = Array.from({ length: 40 }, (_, at) => `secret-${at}`)
    const text = told(
      names.map((name) =>
        missing(
          name,
          ['a', 'b', 'c', 'd'].map((vm) => `VirtualMachine ${vm}`),
        ),
      ),
      'patch',
      1_000,
    )
    const shown = text.split('kubectl').length - 1
    expect(text.length).toBeLessThanOrEqual(1_000)
    expect(shown).toBeGreaterThan(2)
    expect(text).toMatch(
      /^40 Secrets are missing: secret-0 \(for VirtualMachine a, VirtualMachine b, VirtualMachine c and 1 more\), secret-1 /,
    )
    expect(text).toContain(` and ${40 - shown} more; run: kubectl -n lab create secret generic secret-0 `)
    expect(text.endsWith(`; the other ${40 - shown} are told once these are there`)).toBe(true)
  })

  it('has the whole command of the first Secret, however long it is', () => {
    expect(told([missing('a'), missing('b')], 'patch', 1)).toBe(
      '2 Secrets are missing: a and 1 more; run: kubectl -n lab create secret generic a --from-literal=password=PASSWORD; the other one is told once these are there',
    )
  })
})
