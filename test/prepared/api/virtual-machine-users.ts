import { LEAST, spec, times, user } from './machine-spec.ts'
import { accepted, field, refused, type SpecFixture } from './spec.ts'

const CONTROL = [
  'a\nb',
  'a\tb',
  'a\u0000b',
  'a\rb',
  '\u007f',
  'a\u0085b',
  'a\u009b',
  'a\u2028b',
  'a\u2029',
  '\ufeffa',
  'a\ufffe',
  'a\uffff',
]
const KEY = 'AAAAC3NzaC1lZDI1NTE5AAAAIJl3dIeudNqd0DPMRD6OIh65tjkxFNOtwGcWB2gCgPhk'

export const USERS: readonly SpecFixture[] = [
  ...field('spec.users[0].name', (name) => user({ name }), {
    yes: [
      'demo user',
      'demo',
      'Ärger 世 😀',
      'a,b',
      '"',
      "'",
      '\\',
      '{{x}}',
      '$(id)',
      ' ',
      '-rf',
      '😀'.repeat(64),
      'x'.repeat(64),
    ],
    no: ['', 'a:b', ':', '😀'.repeat(65), 'x'.repeat(65), 7, ...CONTROL],
  }),
  ...field('spec.users[0].plain_text_passwd', (plain_text_passwd) => user({ plain_text_passwd }), {
    yes: ['demo-pwd', 'a:b', ' ', '"\'\\', 'pässwörd', '#', '12345', 'true', '😀'.repeat(256)],
    no: ['', '😀'.repeat(257), 'x'.repeat(257), 12345, true, ...CONTROL],
  }),
  ...field('spec.users[0].sudo', (sudo) => user({ sudo }), {
    yes: ['ALL=(ALL) NOPASSWD:ALL', 'ALL=(ALL:ALL) ALL'],
    no: ['', 'x'.repeat(513), false, ['ALL=(ALL) ALL'], 'ALL=(ALL) ALL\nroot ALL=(ALL) ALL', ...CONTROL],
  }),
  ...field('spec.users[0].groups', (groups) => user({ groups }), {
    yes: ['sudo', 'sudo,docker', 'sudo, docker', '_a-b_c,users0', 'x'.repeat(32)],
    no: [
      '',
      ',',
      'sudo,',
      ',sudo',
      'sudo docker',
      'sudo;docker',
      'a:b',
      '1000',
      'Users',
      'a.b',
      'x'.repeat(33),
      'ä',
      ['sudo'],
      ...CONTROL,
    ],
  }),
  ...field('spec.users[0].lock_passwd', (lock_passwd) => user({ lock_passwd }), {
    yes: [true, false],
    no: ['false', 0],
  }),
  ...field('spec.users[0].ssh_authorized_keys[0]', (key) => user({ ssh_authorized_keys: [key] }), {
    yes: [
      `ssh-ed25519 ${KEY}`,
      `ssh-ed25519 ${KEY} demo@laptop: "work", 2026`,
      `ssh-rsa ${KEY}==`,
      `ecdsa-sha2-nistp256 ${KEY}= x`,
      `sk-ssh-ed25519@openssh.com ${KEY}`,
      `from="10.0.0.0/8",command="echo hi there" ssh-ed25519 ${KEY}`,
    ],
    no: [
      '',
      'key',
      KEY,
      `# ssh-ed25519 ${KEY}`,
      ` ssh-ed25519 ${KEY}`,
      'ssh-ed25519 something',
      '-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEA',
      `ssh-ed25519 ${KEY}\nssh-ed25519 ${KEY}`,
      `ssh-ed25519 ${KEY}\n`,
      `ssh-ed25519 ${KEY} jörg`,
      `ssh-rsa AAAA${'a'.repeat(4096)}`,
      7,
    ],
  }),
  accepted('16 users with 16 keys each', {
    ...LEAST,
    users: times(16, (at) => ({ name: `u${at}`, ssh_authorized_keys: times(16, () => `ssh-ed25519 ${KEY}`) })),
  }),
  refused(
    '17 keys',
    user({ ssh_authorized_keys: times(17, () => `ssh-rsa ${KEY}`) }),
    'spec.users[0].ssh_authorized_keys',
  ),
  refused('17 users', spec({ users: times(17, (at) => ({ name: `u${at}` })) }), 'spec.users'),
  refused('a user twice', spec({ users: [{ name: 'a' }, { name: 'b' }, { name: 'a' }] }), 'spec.users'),
  accepted('users that differ in case', spec({ users: [{ name: 'a' }, { name: 'A' }] })),
]

const ref = (fields: object) => user({ passwordSecretRef: { name: 'passwords', key: 'demo', ...fields } })
export const SECRETS: readonly SpecFixture[] = [
  ...field('spec.users[0].passwordSecretRef.name', (name) => ref({ name }), {
    yes: ['a.b'],
    no: ['', 'A', 'ns/name', null],
  }),
  ...field('spec.users[0].passwordSecretRef.key', (key) => ref({ key }), {
    yes: ['a', '.A_b-c', 'x'.repeat(253)],
    no: ['', 'a/b', 'a b', 'ä', 'x'.repeat(254), null],
  }),
  refused(
    'two passwords',
    user({ plain_text_passwd: 'x', passwordSecretRef: { name: 'a', key: 'b' } }),
    'spec.users[0].passwordSecretRef',
  ),
]
