import type { ChildProcessByStdio } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type JSONRPCMessage,
  SdkError,
  SdkErrorCode,
  serializeMessage,
  type Transport,
} from '@modelcontextprotocol/client';
import crossSpawn from 'cross-spawn';
import { MessageLines } from './message-lines.js';
import { MAX_MESSAGE_BYTES } from './messages.js';

/** The command of a server, and what is added to its environment. */
export interface CommandTarget {
  readonly command: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

type Child = ChildProcessByStdio<Writable, Readable, null>;

/** Bytes that a server may leave unread before its connection ends. */
const MAX_UNREAD = 4 * MAX_MESSAGE_BYTES;
/** Answers to its requests that a server may leave unread: each holds far more memory than its bytes. */
const MAX_UNREAD_ANSWERS = 1_000;
/** Time in milliseconds that a server has to end, first by itself and then after SIGTERM. */
const MAX_END_MS = 2_000;
/**
 * Time in milliseconds for the last output of a server that has exited: its own children may hold the pipe for ever.
 */
const LAST_OUTPUT_MS = 1_000;

/**
 * A connection over the pipes of a child process, a line for each message. Every fault of the pipes ends the process,
 * and so the requests that it has not answered. The SDK's own transport ignores unusable answers, and the requests then
 * wait.
 */
export class ChildProcessTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  // With `pid`, it tells the SDK that this is a process.
  readonly stderr = null;
  private readonly lines = new MessageLines();
  private child: Child | null = null;
  private closing: Promise<void> | null = null;
  private unreadAnswers = 0;
  private isEndReported = false;

  constructor(
    private readonly command: readonly string[],
    private readonly environment: Readonly<Record<string, string>>,
  ) {}

  get pid(): number | null {
    return this.child?.pid ?? null;
  }

  start(): Promise<void> {
    const [program = '', ...words] = this.command;
    // Windows starts `npx` and other scripts only with the changes that this package makes to a command.
    const child = crossSpawn.spawn(program, words, {
      env: { ...this.environment },
      stdio: ['pipe', 'pipe', 'inherit'],
      windowsHide: true,
    });
    // A process of another user, as with sudo, refuses each signal: without a listener, that would end this program.
    child.on('error', (error) => this.onerror?.(error));
    child.stdout.on('data', (chunk: Buffer) => this.receive(chunk));
    for (const pipe of [child.stdin, child.stdout]) pipe.on('error', (error) => this.fail(error));
    child.once('exit', () => endOutput(child));
    this.child = child;
    child.once('close', () => this.reportEnd());
    return new Promise((resolve, reject) => {
      child.once('spawn', resolve);
      child.once('error', reject);
    });
  }

  send(message: JSONRPCMessage): Promise<void> {
    const { child } = this;
    if (child === null || this.closing !== null)
      return Promise.reject(new SdkError(SdkErrorCode.NotConnected, 'The server has ended.'));
    if (child.stdin.writableLength > MAX_UNREAD) {
      const error = new Error(`the server has left more than ${MAX_UNREAD} bytes unread`);
      this.fail(error);
      return Promise.reject(error);
    }
    return 'method' in message ? write(child, message) : this.sendAnswer(child, message);
  }

  /** Answers a request of the server, unless it has left too many answers unread. */
  private async sendAnswer(child: Child, message: JSONRPCMessage): Promise<void> {
    if (this.unreadAnswers >= MAX_UNREAD_ANSWERS) return;
    this.unreadAnswers += 1;
    await write(child, message).finally(() => (this.unreadAnswers -= 1));
  }

  close(): Promise<void> {
    this.closing ??= this.child === null ? Promise.resolve() : this.end(this.child);
    return this.closing;
  }

  private async end(child: Child): Promise<void> {
    if (await hasEnded(child)) return;
    // It may go on without its pipes, but keeps neither its calls nor this program waiting.
    for (const pipe of [child.stdin, child.stdout]) pipe.destroy();
    child.unref();
    this.reportEnd();
  }

  private reportEnd(): void {
    if (!this.isEndReported) this.onclose?.();
    this.isEndReported = true;
  }

  private receive(chunk: Buffer): void {
    this.letOthersRun();
    try {
      for (const message of this.lines.read(chunk)) this.onmessage?.(message);
    } catch (error) {
      // The following output cannot be read.
      this.child?.stdout.destroy();
      this.fail(error instanceof Error ? error : new Error(String(error)));
    }
  }

  /** Reads on in the next turn of the event loop: a server that never pauses would keep all others waiting. */
  private letOthersRun(): void {
    const output = this.child?.stdout;
    output?.pause();
    setImmediate(() => output?.resume());
  }

  private fail(error: Error): void {
    this.onerror?.(error);
    void this.close();
  }
}

function write({ stdin }: Child, message: JSONRPCMessage): Promise<void> {
  return new Promise((resolve, reject) => {
    stdin.write(serializeMessage(message), (error) => (error ? reject(error) : resolve()));
  });
}

/** Ends a process: by the end of its input, then by SIGTERM, then by SIGKILL. @returns false if it goes on */
async function hasEnded(child: Child): Promise<boolean> {
  if (hasExited(child)) return true;
  const exit = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const waitForExit = (): Promise<void> => Promise.race([exit, sleep(MAX_END_MS, undefined, { ref: false })]);
  child.stdin.end();
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    await waitForExit();
    if (!hasExited(child)) child.kill(signal);
  }
  await waitForExit();
  return hasExited(child);
}

function hasExited({ exitCode, signalCode }: Child): boolean {
  return exitCode !== null || signalCode !== null;
}

function endOutput(child: Child): void {
  const timer = setTimeout(() => child.stdout.destroy(), LAST_OUTPUT_MS);
  child.once('close', () => clearTimeout(timer));
}
