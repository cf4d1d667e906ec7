import { describe, expect, it } from 'vitest'
import { classifyHost, isSameUrl, isSourceUrlAllowed, isUrlPrefix, parseSourceUrl } from './source-url.ts'

describe('isSameUrl', () => {
  it.each([
    [true, 'https://images.example/a', 'https://IMAGES.example:443/a'],
    [true, 'http://images.example./a?b', 'http://images.example:080/a?b'],
    [true, 'docker://org/image', 'docker://docker.io/org/image'],
    [true, 'no url', 'no url'],
    [false, 'https://images.example/a', 'https://images.example/A'],
    [false, 'https://images.example/a', 'http://images.example/a'],
    [false, 'https://images.example/a', 'https://images.example:8443/a'],
    [false, 'https://images.example/a?b', 'https://images.example/a?c'],
    [false, 'https://images.example/a', 'no url'],
  ])('is %s of %s and %s', (expected, one, other) => {
    expect([isSameUrl(one, other), isSameUrl(other, one)]).toEqual([expected, expected])
  })
})

describe('classifyHost', () => {
  it.each([
    [
      'name',
      [
        'images.example.com',
        'a',
        'minio.storage.svc',
        'a_b.example',
        '127.0.0.1.example.com',
        '0x7f.example',
        'xn--bcher-kva.example',
      ],
    ],
    [
      'public',
      [
        '8.8.8.8',
        '1.1.1.1',
        '128.0.0.1',
        '172.15.0.1',
        '172.32.0.1',
        '100.63.0.1',
        '100.128.0.1',
        '192.167.1.1',
        '198.17.0.1',
        '223.255.255.255',
      ],
    ],
    ['public', ['[2606:4700::1111]', '[2001:4860:4860::8888]', '[2a00:1450:4001:0:0:0:0:1]', '[3fff:1000::1]']],
    [
      'private',
      [
        '10.0.0.1',
        '10.255.255.255',
        '172.16.0.1',
        '172.31.255.255',
        '192.168.0.1',
        '100.64.0.1',
        '100.127.255.255',
        '198.18.0.1',
        '198.19.255.255',
      ],
    ],
    [
      'private',
      [
        '192.0.2.1',
        '198.51.100.1',
        '203.0.113.1',
        '192.88.99.1',
        '192.0.0.1',
        '224.0.0.1',
        '240.0.0.1',
        '255.255.255.255',
      ],
    ],
    [
      'private',
      [
        '[fc00::1]',
        '[fd12:3456:789a::1]',
        '[fec0::1]',
        '[ff02::1]',
        '[2001:db8::1]',
        '[2001::1]',
        '[2002:808:808::]',
        '[100::1]',
        '[3fff::1]',
      ],
    ],
    [
      'local',
      [
        'localhost',
        'a.localhost',
        'metadata.google.internal',
        '127.0.0.1',
        '127.255.0.1',
        '0.0.0.0',
        '169.254.169.254',
        '168.63.129.16',
      ],
    ],
    [
      'local',
      [
        '[::1]',
        '[::]',
        '[0:0:0:0:0:0:0:1]',
        '[::ffff:8.8.8.8]',
        '[::ffff:808:808]',
        '[fe80::1]',
        '[64:ff9b::808:808]',
        '[fd00:ec2::254]',
      ],
    ],
    [
      'malformed',
      [
        '',
        '2130706433',
        '0x7f000001',
        '0177.0.0.1',
        '127.1',
        '8.8.8',
        '8.8.8.08',
        '256.1.1.1',
        '1.2.3.4.5',
        '0x7f.1',
        '1e3.1',
        'a..b',
        '-a',
        'a-',
        '.',
      ],
    ],
    [
      'malformed',
      [
        '[]',
        '[2001::1::1]',
        '[2001:1]',
        '[20011::1]',
        '[2001:1:2:3:4:5:6:7:8]',
        '[2001::8.8.8.8]',
        '[2001::1%eth0]',
        'a b',
        'a/b',
        'ä.example',
      ],
    ],
  ])('%s: %j', (expected, hosts) => {
    expect(hosts.map((host) => [host, classifyHost(host)])).toEqual(hosts.map((host) => [host, expected]))
  })
})

describe('parseSourceUrl', () => {
  it.each([
    [
      'https://A.Example.com.:443/x?y#z',
      { scheme: 'https', host: 'a.example.com', port: '', path: '/x', hasQuery: true },
    ],
    ['http://a.example:0080', { scheme: 'http', host: 'a.example', port: '', path: '/', hasQuery: false }],
    ['http://a.example:443/', { scheme: 'http', host: 'a.example', port: '443', path: '/', hasQuery: false }],
    [
      'https://[2606:4700::1]:8443/x',
      { scheme: 'https', host: '[2606:4700::1]', port: '8443', path: '/x', hasQuery: false },
    ],
    [
      'docker://registry.example.com/org/img:tag',
      { scheme: 'docker', host: 'registry.example.com', port: '', path: '/org/img:tag', hasQuery: false },
    ],
    ['docker://org/img', { scheme: 'docker', host: 'docker.io', port: '', path: '/org/img', hasQuery: false }],
    ['docker://registry:5000/img', { scheme: 'docker', host: 'registry', port: '5000', path: '/img', hasQuery: false }],
    ['oci-archive:///x/y.tar', { scheme: 'oci-archive', host: '', port: '', path: '//x/y.tar', hasQuery: false }],
  ])('takes %s apart', (url, parts) => {
    expect(parseSourceUrl(url)).toEqual(parts)
  })

  it.each([
    '',
    'https://',
    'ftp://a.example',
    'https://u:p@a.example/x',
    'https://a.example\\x',
    'https://[127.0.0.1]/x',
    'docker://[169.254.169.254]/x',
    'HTTPS://a.example',
    'https://a.example/ x',
  ])('refuses %j', (url) => {
    expect(parseSourceUrl(url)).toBeUndefined()
  })
})

const ANYWHERE = undefined
/** Tests that the predicate holds for `yes` and not for `no`. */
function judges(what: string, holds: (url: string) => boolean, { yes, no }: Record<'yes' | 'no', readonly string[]>) {
  it.each(yes)(`${what}: takes %j`, (url) => {
    expect(holds(url)).toBe(true)
  })

  it.each(no)(`${what}: refuses %j`, (url) => {
    expect(holds(url)).toBe(false)
  })
}

const LIST = [
  'https://images.example.com/vms',
  'https://mirror.example:8443/',
  'http://10.0.0.8',
  'gs://bucket/a',
  'docker://registry.example.com/org',
  'docker://kubevirt/',
  'oci-archive:///images',
]

describe('isSourceUrlAllowed', () => {
  judges('without a list', (url) => isSourceUrlAllowed(url, ANYWHERE), {
    yes: [
      'https://images.example.com/a.qcow2',
      'http://minio.storage.svc:9000/b/k',
      'https://8.8.8.8/a',
      'https://[2606:4700::1]/a',
      'gs://bucket/object',
      'docker://registry.example.com/org/img',
      'docker://org/img',
      'oci-archive:///images/a.tar',
      'https://s3.us-gov-west-1.amazonaws.com/uki-lrn-vm-images/images/lab-151/1.0.0/attacker.qcow2',
      'https://images.example.com/a/../b',
    ],
    no: [
      'http://10.0.0.8/a',
      'http://172.16.0.1/a',
      'http://192.168.1.1/a',
      'http://100.64.0.1/a',
      'http://127.0.0.1/a',
      'http://169.254.169.254/latest',
      'http://localhost/a',
      'http://2130706433/a',
      'http://0x7f000001/a',
      'http://0177.0.0.1/a',
      'http://127.1/a',
      'http://0/a',
      'http://[::1]/a',
      'http://[::ffff:10.0.0.8]/a',
      'http://[::ffff:a00:8]/a',
      'http://[fd12::1]/a',
      'http://[fe80::1]/a',
      'http://[64:ff9b::a00:8]/a',
      'http://[2002:a00:8::]/a',
      'http://a..b/a',
      'http://user@images.example.com/a',
      'http://images.example.com\\@10.0.0.8/a',
      'docker://10.0.0.8:5000/img',
      'docker://localhost/img',
      'docker://2130706433/img',
      'file:///etc/passwd',
      'not a url',
      '',
    ],
  })

  judges('with a list', (url) => isSourceUrlAllowed(url, LIST), {
    yes: [
      'https://images.example.com/vms',
      'https://images.example.com/vms/',
      'https://images.example.com/vms/a.qcow2',
      'https://images.example.com/vms?x=1',
      'https://IMAGES.example.com.:443/vms/a',
      'https://mirror.example:8443/anything',
      'https://mirror.example:8443',
      'http://10.0.0.8/a',
      'http://10.0.0.8:80/a',
      'gs://bucket/a/b',
      'docker://registry.example.com/org/img:tag',
      'docker://kubevirt/img',
      'docker://docker.io/kubevirt/img',
      'oci-archive:///images/a.tar',
    ],
    no: [
      'https://images.example.com/',
      'https://images.example.com/vms2/a',
      'https://images.example.com/VMS/a',
      'https://images.example.com/vms/../secret',
      'https://images.example.com/vms/%2e%2e/secret',
      'https://images.example.com/vms/..;/secret',
      'https://images.example.com/vms/.%2e;v=1/secret',
      'https://images.example.com/vms/%252e%252e/secret',
      'https://images.example.com/vms/%25252E.%252fsecret',
      'https://images.example.com/vms/..%2Fsecret',
      'https://images.example.com/vms/.%2e%5csecret',
      'https://images.example.com/%76ms/a',
      'https://images.example.com:8443/vms/a',
      'http://images.example.com/vms/a',
      'https://evil.example/vms/a',
      'https://images.example.com.evil.example/vms/a',
      'https://aimages.example.com/vms/a',
      'https://mirror.example/a',
      'http://10.0.0.9/a',
      'http://10.0.0.80/a',
      'http://10.8/a',
      'gs://bucket2/a/b',
      'gs://bucket/ab',
      'docker://registry.example.com/organisation/img',
      'docker://evil.io/kubevirt/img',
      'oci-archive:///images2/a.tar',
      'oci-archive:///images/../etc/a.tar',
    ],
  })

  it('never allows what is local, even if the list says so', () => {
    expect(isSourceUrlAllowed('http://127.0.0.1/a', ['http://127.0.0.1'])).toBe(false)
    expect(isSourceUrlAllowed('http://169.254.169.254/a', ['http://169.254.169.254/'])).toBe(false)
  })

  it('allows nothing with an empty list', () => {
    expect(isSourceUrlAllowed('https://images.example.com/a', [])).toBe(false)
  })
})

describe('isUrlPrefix', () => {
  judges('a prefix', isUrlPrefix, {
    yes: [
      'https://a.example',
      'https://a.example/',
      'http://10.0.0.8:9000/x',
      'docker://registry.example.com',
      'docker://registry.example.com/',
      'docker://registry.example.com/org',
      'gs://bucket',
    ],
    no: [
      '',
      '*',
      'a.example',
      's3://bucket',
      'https://',
      'https://*.example',
      'https://u@a.example',
      'https://a.example?x',
      'https://a.example/../b',
    ],
  })
})
