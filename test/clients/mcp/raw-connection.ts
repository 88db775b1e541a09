import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Parsed } from '../../support/application/send';
import { GOV } from './mcp-clients';

/** Milliseconds: a busy machine may be slow, but what did not come by then does not come. */
const PATIENCE = 120_000;

/** The members of `_meta` in each request without a handshake. */
export const ENVELOPE = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
};

interface RawOptions {
  readonly words?: readonly string[];
  readonly capabilities?: object;
  /** True for the protocol without a handshake. */
  readonly isModern?: boolean;
}

/** Lines to and from `gov mcp`, as no client of the SDK would send them. */
export class RawConnection {
  /** The messages that have come so far, in their order. */
  readonly received: Parsed[] = [];
  /** The text on its standard error so far. */
  errors = '';
  private wake: (() => void)[] = [];
  private isClosed = false;

  private constructor(private readonly program: ChildProcessWithoutNullStreams) {
    const wakeAll = (): void => this.wake.splice(0).forEach((wake) => wake());
    program.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.errors += text;
      wakeAll();
    });
    program.on('exit', wakeAll);
    program.on('close', () => {
      this.isClosed = true;
      wakeAll();
    });
    // It may end without having read all of it.
    program.stdin.on('error', () => undefined);
    createInterface({ input: program.stdout }).on('line', (line) => {
      this.received.push(JSON.parse(line));
      wakeAll();
    });
  }

  /** Starts it in front of a server, or without one of those that the words name, and begins. */
  static async open(
    server: readonly string[],
    environment: NodeJS.ProcessEnv,
    { words = [], capabilities = {}, isModern = false }: RawOptions = {},
  ): Promise<RawConnection> {
    const line = [GOV, 'mcp', ...words, ...(server.length === 0 ? [] : ['--', process.execPath, ...server])];
    const program = spawn(process.execPath, line, { env: { ...process.env, ...environment } });
    const connection = new RawConnection(program);
    if (isModern) connection.send({ id: 'first', method: 'server/discover', params: { _meta: ENVELOPE } });
    else {
      const params = { protocolVersion: '2025-11-25', capabilities, clientInfo: { name: 'raw', version: '1' } };
      connection.send({ id: 'first', method: 'initialize', params });
    }
    await connection.until(({ id }) => id === 'first');
    if (!isModern) connection.send({ method: 'notifications/initialized' });
    return connection;
  }

  /** One line; a list becomes a batch. */
  send(message: object | readonly object[]): void {
    const whole = (one: object): object => ({ jsonrpc: '2.0', ...one });
    const sent = Array.isArray(message) ? message.map(whole) : whole(message);
    this.sendLine(JSON.stringify(sent));
  }

  /** Sends a line as it is. */
  sendLine(line: string): void {
    this.program.stdin.write(`${line}\n`);
  }

  call(id: number | string, name: string, input: object = {}): void {
    this.send({ id, method: 'tools/call', params: { name, arguments: input } });
  }

  /** The first message of this kind; it waits until there is one. */
  async until(isWanted: (message: Parsed) => boolean): Promise<Parsed> {
    const [message] = await this.several(1, isWanted);
    return message;
  }

  /** So many of this kind. */
  async several(count: number, isWanted: (message: Parsed) => boolean): Promise<Parsed[]> {
    const matches = (): Parsed[] => this.received.filter(isWanted);
    await this.waitFor('a message came', () => matches().length >= count);
    return matches();
  }

  /** Waits until this is on standard error. */
  async untilPrinted(text: string): Promise<void> {
    await this.waitFor(`it printed ${text}`, () => this.errors.includes(text));
  }

  /** From now on nobody reads what it says. */
  stopReading(): void {
    this.program.stdout.destroy();
  }

  /** Leaves unread what it says from now on. */
  pause(): void {
    this.program.stdout.pause();
  }

  /** Asks it to end, and resolves once it has, whatever is unread. */
  async terminate(): Promise<void> {
    const { program } = this;
    program.kill('SIGTERM');
    await this.waitFor('it ended', () => program.exitCode !== null || program.signalCode !== null);
    program.stdout.resume();
  }

  /** Its exit code, once it has ended by itself. */
  async exitCode(): Promise<number | null> {
    await this.waitFor('it ended', () => this.isClosed);
    return this.program.exitCode;
  }

  async close(): Promise<void> {
    this.program.stdin.end();
    await this.exitCode();
  }

  /**
   * Waits until something is true, which changes with what the program says and its end.
   * @throws if it cannot become true any more, or does not within two minutes, with what the program has said
   */
  private async waitFor(what: string, isTrue: () => boolean): Promise<void> {
    const end = performance.now() + PATIENCE;
    const timer = setTimeout(() => this.wake.splice(0).forEach((wake) => wake()), PATIENCE);
    try {
      while (!isTrue()) {
        if (this.isClosed || performance.now() >= end)
          throw new Error(`Waited in vain until ${what}: ${this.stateText()}`);
        await new Promise<void>((resolve) => this.wake.push(resolve));
      }
    } finally {
      clearTimeout(timer);
    }
  }

  private stateText(): string {
    const { exitCode, signalCode } = this.program;
    return JSON.stringify({ exitCode, signalCode, received: this.received, errors: this.errors });
  }
}
