import { Logger } from '@nestjs/common';
import { connect, Socket } from 'node:net';
import { Client, type ClientConfig, DatabaseError } from 'pg';

/**
 * Milliseconds between checks. After a suspension the process makes a single check, and reads what has arrived before
 * the next.
 */
const CHECK_INTERVAL_MS = 200;
/** Number of checks without a response after which the server is probed, while statements wait. */
const CHECKS_BEFORE_PROBE = 3;
/** Number of checks without a response after which sessions are cut: the server has had a second to answer a probe. */
const CHECKS_BEFORE_CUT = 8;
/** Milliseconds for which a probe stays open. */
const ANSWER = 1_000;
/**
 * Asks whether the server supports encryption. The server answers this before anything else, without a session, its
 * disk or a lock.
 */
const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]);

/**
 * Distinguishes an unreachable server from a slow one. While statements wait and no session receives anything, a
 * separate connection probes the server. If the probe gets no answer, all sessions are cut, and new ones are refused
 * until the server answers.
 */
export class ServerReach {
  isCutOff = false;
  whenCutOff: () => void = () => undefined;
  private readonly logger = new Logger('Database');
  private readonly sockets = new Set<Socket>();
  private timer: NodeJS.Timeout | null = null;
  private waiting = 0;
  private hasHeard = false;
  /** Number of consecutive checks without a response. */
  private silent = 0;

  constructor(private readonly config: ClientConfig) {}

  begin(): void {
    this.timer = setInterval(() => this.check(), CHECK_INTERVAL_MS).unref();
  }

  end(): void {
    if (this.timer !== null) clearInterval(this.timer);
  }

  /** Makes a socket for a session. */
  socket(): Socket {
    const socket = new Socket();
    this.sockets.add(socket);
    // Destroyed on the next tick, when the driver is listening.
    if (this.isCutOff) process.nextTick(() => socket.destroy(outOfReach()));
    return socket.once('close', () => this.sockets.delete(socket));
  }

  /** Awaits a session's answer. An error is a response from the server, too. */
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

  private check(): void {
    if (this.hasHeard || (this.waiting === 0 && !this.isCutOff)) {
      if (this.isCutOff) this.logger.log('The PostgreSQL server can be reached again.');
      this.isCutOff = false;
      this.hasHeard = false;
      this.silent = 0;
      return;
    }
    this.silent += 1;
    if (this.silent % CHECKS_BEFORE_PROBE === 0) this.probe();
    if (this.silent === CHECKS_BEFORE_CUT) this.cut();
  }

  private probe(): void {
    // The address is resolved as a session would resolve it.
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
    this.isCutOff = true;
    this.sockets.forEach((socket) => socket.destroy(outOfReach()));
    this.whenCutOff();
  }
}

function outOfReach(): Error {
  return new Error('The PostgreSQL server cannot be reached.');
}
