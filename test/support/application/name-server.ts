import { createSocket, type Socket } from 'node:dgram';

/** Address of the name server for a program under test; no other program uses this address of loopback. */
export const NAME_SERVER = '127.0.0.99';
const PORT = 53;
const HEADER = 12;
const TYPES = { A: 1, AAAA: 28 };
const LOOPBACK_6 = '::1';
/** Flags of an answer: without a code, and with the one for a name that does not exist. */
const [NO_ERROR, NO_SUCH_NAME] = [0x8180, 0x8183];

/** The addresses of a name server, and the names for which it is silent. */
export interface Zone {
  /** Maps names to IPv4 addresses and `::1`. */
  readonly addresses: Readonly<Record<string, readonly string[]>>;
  /** The names for which it never answers. */
  readonly isSilent: (name: string) => boolean;
}

/** A name server for a few names. Other names do not exist, unless it is silent about them. */
export class NameServer {
  /** The names in the queries so far, in order. */
  readonly queries: string[] = [];
  private wake: (() => void)[] = [];

  private constructor(
    private readonly socket: Socket,
    private readonly zone: Zone,
  ) {
    socket.on('message', (question, { port, address }) => {
      const answer = this.answerFor(question);
      if (answer !== null) socket.send(answer, port, address);
    });
  }

  /** Null: this user may not listen at the port of name servers. */
  static async start(zone: Zone): Promise<NameServer | null> {
    const socket = createSocket('udp4');
    const isListening = await new Promise<boolean>((resolve) => {
      socket.once('error', () => resolve(false)).bind(PORT, NAME_SERVER, () => resolve(true));
    });
    return isListening ? new NameServer(socket, zone) : null;
  }

  /** Resolves after queries for this many different names. */
  async until(count: number): Promise<void> {
    while (new Set(this.queries).size < count) await new Promise<void>((resolve) => this.wake.push(resolve));
  }

  async close(): Promise<void> {
    await new Promise<void>((resolve) => this.socket.close(resolve));
  }

  private answerFor(question: Buffer): Buffer | null {
    const { name, end } = nameIn(question);
    this.queries.push(name);
    this.wake.splice(0).forEach((wake) => wake());
    const type = question.readUInt16BE(end);
    const { addresses, isSilent } = this.zone;
    if (isSilent(name)) return null;
    const all = addresses[name];
    const matches = (all ?? []).filter((address) => type === (address === LOOPBACK_6 ? TYPES.AAAA : TYPES.A));
    const header = Buffer.alloc(HEADER);
    question.copy(header, 0, 0, 2);
    header.writeUInt16BE(all === undefined ? NO_SUCH_NAME : NO_ERROR, 2);
    header.writeUInt16BE(1, 4);
    header.writeUInt16BE(matches.length, 6);
    const records = matches.map((address) => recordOf(type, address));
    return Buffer.concat([header, question.subarray(HEADER, end + 4), ...records]);
  }
}

/** The name of the question, and where it ends. */
function nameIn(question: Buffer): { name: string; end: number } {
  const labels: string[] = [];
  let at = HEADER;
  for (let length = question.readUInt8(at); length > 0; length = question.readUInt8(at)) {
    labels.push(question.toString('latin1', at + 1, at + 1 + length).toLowerCase());
    at += 1 + length;
  }
  return { name: labels.join('.'), end: at + 1 };
}

function recordOf(type: number, address: string): Buffer {
  const bytes =
    type === TYPES.A ? Buffer.from(address.split('.').map(Number)) : Buffer.from('1'.padStart(32, '0'), 'hex');
  const start = Buffer.alloc(12);
  // The name of the question, by reference.
  start.writeUInt16BE(0xc000 + HEADER, 0);
  start.writeUInt16BE(type, 2);
  start.writeUInt16BE(1, 4);
  start.writeUInt16BE(bytes.length, 10);
  return Buffer.concat([start, bytes]);
}
