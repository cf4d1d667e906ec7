// Answers every question for an IPv4 address with the same one: `node name-server.ts <listen> <answer>`. It ends with its input.

import { createSocket } from 'node:dgram'

const [listen = '', answer = ''] = process.argv.slice(2)
const HEADER_BYTES = 12
const TYPE_A = 1

const socket = createSocket('udp4')
socket.on('message', (question, from) => {
  const end = question.indexOf(0, HEADER_BYTES) + 5
  const isForAddress = question.readUInt16BE(end - 4) === TYPE_A
  const header = Buffer.from(question.subarray(0, HEADER_BYTES))
  // An answer without an error; one question, at most one answer, nothing else.
  header.writeUInt16BE(0x8180, 2)
  for (const [at, count] of [1, Number(isForAddress), 0, 0].entries()) header.writeUInt16BE(count, 4 + 2 * at)
  // The name is the one at the begin of the question. Class IN, for a minute, four bytes.
  const record = Buffer.from([0xc0, HEADER_BYTES, 0, TYPE_A, 0, 1, 0, 0, 0, 60, 0, 4, ...answer.split('.').map(Number)])
  socket.send(
    Buffer.concat([header, question.subarray(HEADER_BYTES, end), ...(isForAddress ? [record] : [])]),
    from.port,
    from.address,
  )
})
socket.bind(53, listen, () => process.stdout.write('serves\n'))
process.stdin.on('end', () => process.exit()).resume()
