import { Logger } from '@nestjs/common';
import { connect, Socket } from 'node:net';
import { Client, type ClientConfig, DatabaseError } from 'pg';

/** Milliseconds between looks. A process that stands still looks once for all that time, and then hears first. */
const LOOK = 200;
/** Looks without a word from the server, while statements wait, between the questions that it is asked. */
const LOOKS_TO_ASK = 3;
/** So many looks without a word: the server has had a second for its answer. */
const LOOKS_TO_CUT = 8;
/** Milliseconds for which a question is kept open. */
const ANSWER = 1_000;
/** Whether it would encrypt is what a server answers before all else: without a session, its disk or a lock. */
const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]);

/**
 * Tells a server that is out of reach from one that takes its time. While statements wait and nothing is heard in any
 * session, the server is asked in a connection of its own; where that is not answered either, all sessions are cut, and
 * new ones are refused until it answers.
 */
export class ServerReach {
  private readonly logger = new Logger('Database');
  private readonly sockets = new Set<Socket>();
  private readonly whenCutOff: (() => void)[] = [];
  private timer: NodeJS.Timeout | null = null;
  private waiting = 0;
  private hasHeard = false;
  /** Looks in a row. */
  private silent = 0;
  private cutOff = false;

  constructor(private readonly config: ClientConfig) {}

  get isCutOff(): boolean {
    return this.cutOff;
  }

  begin(): void {
    this.timer = setInterval(() => this.look(), LOOK).unref();
  }

  end(): void {
    if (this.timer !== null) clearInterval(this.timer);
  }

  onCutOff(listener: () => void): void {
    this.whenCutOff.push(listener);
  }

  /** For a session. */
  socket(): Socket {
    const socket = new Socket();
    this.sockets.add(socket);
    // Once it connects: the driver listens from then on.
    if (this.cutOff) process.nextTick(() => socket.destroy(outOfReach()));
    return socket.once('close', () => this.sockets.delete(socket));
  }

  /** What a session waits for. Also an error is a word from the server. */
  async answer<Result>(awaited: Promise<Result>): Promise<Result> {
    this.waiting += 1;
    try {
      const result = await awaited;
      this.hasHeard = true;
      return result;
    } catch (error) {
      if (error instanceof DatabaseError) this.hasHeard = true;
      throw error;
    } finally {
      this.waiting -= 1;
    }
  }

  private look(): void {
    if (this.hasHeard || (this.waiting === 0 && !this.cutOff)) {
      if (this.cutOff) this.logger.log('The PostgreSQL server can be reached again.');
      this.cutOff = false;
      this.hasHeard = false;
      this.silent = 0;
      return;
    }
    this.silent += 1;
    if (this.silent % LOOKS_TO_ASK === 0) this.ask();
    if (this.silent === LOOKS_TO_CUT) this.cut();
  }

  private ask(): void {
    // As a session would find it.
    const { host, port } = new Client(this.config);
    const socket = connect(host.startsWith('/') ? { path: `${host}/.s.PGSQL.${port}` } : { host, port });
    socket.setTimeout(ANSWER, () => socket.destroy());
    socket.on('error', () => socket.destroy());
    socket.once('data', () => {
      this.hasHeard = true;
      socket.destroy();
    });
    socket.write(SSL_REQUEST);
  }

  private cut(): void {
    this.logger.error('The PostgreSQL server cannot be reached: reads and writes are refused until it answers.');
    this.cutOff = true;
    this.sockets.forEach((socket) => socket.destroy(outOfReach()));
    this.whenCutOff.forEach((listener) => listener());
  }
}

function outOfReach(): Error {
  return new Error('The PostgreSQL server cannot be reached.');
}
