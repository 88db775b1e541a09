import { createSocket, type Socket } from 'node:dgram';

/** Where the resolver's configuration of a program under test sends its questions; loopback, so nothing else has it. */
export const NAME_SERVER = '127.0.0.99';
const PORT = 53;
const HEADER = 12;
const TYPES = { A: 1, AAAA: 28 };
const LOOPBACK_6 = '::1';
/** Flags of an answer: without a code, and with the one for a name that does not exist. */
const [FOUND, NO_SUCH_NAME] = [0x8180, 0x8183];

/** What a name server knows, and what it does otherwise. */
export interface Zone {
  /** By name: IPv4 addresses, and `::1`. */
  readonly known: Readonly<Record<string, readonly string[]>>;
  /** The names for which it never answers. */
  readonly isSilent: (name: string) => boolean;
}

/** A name server that knows a few names; of others it says that they do not exist, unless it is silent. */
export class NameServer {
  /** The names that were asked for, in order. */
  readonly asked: string[] = [];
  private wake: (() => void)[] = [];

  private constructor(
    private readonly socket: Socket,
    private readonly zone: Zone,
  ) {
    socket.on('message', (question, { port, address }) => {
      const answer = this.answerTo(question);
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

  /** Resolves when this many different names have been asked for. */
  async until(count: number): Promise<void> {
    while (new Set(this.asked).size < count) await new Promise<void>((resolve) => this.wake.push(resolve));
  }

  async close(): Promise<void> {
    await new Promise<void>((resolve) => this.socket.close(resolve));
  }

  private answerTo(question: Buffer): Buffer | null {
    const { name, end } = nameIn(question);
    this.asked.push(name);
    this.wake.splice(0).forEach((wake) => wake());
    const type = question.readUInt16BE(end);
    const { known, isSilent } = this.zone;
    if (isSilent(name)) return null;
    const all = known[name];
    const found = (all ?? []).filter((address) => type === (address === LOOPBACK_6 ? TYPES.AAAA : TYPES.A));
    const header = Buffer.alloc(HEADER);
    question.copy(header, 0, 0, 2);
    header.writeUInt16BE(all === undefined ? NO_SUCH_NAME : FOUND, 2);
    header.writeUInt16BE(1, 4);
    header.writeUInt16BE(found.length, 6);
    const records = found.map((address) => recordOf(type, address));
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
