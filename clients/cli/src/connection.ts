import type { Socket } from 'node:net';
import { type buildConnector, Client, type Dispatcher } from 'undici';

/** The code of a connection that broke off while it carried an answer. */
const BROKEN_OFF = 'UND_ERR_SOCKET';
const FIRST_FINAL_STATUS = 200;

/**
 * A client of undici with one connection at a time, which carries one exchange at a time. A full exchange holds back
 * the bytes of the socket, so that undici itself is never paused. If a connection ends with its last answer while
 * undici is paused, undici fails with an assertion, which ends the process.
 */
export class Connection extends Client {
  private exchange: CarriedExchange | null = null;

  /** @param connector opens the socket */
  static open(origin: string | URL, options: Client.Options, connector: buildConnector.connector): Connection {
    const connection: Connection = new Connection(origin, {
      ...options,
      connect: (target: buildConnector.Options, callback: buildConnector.Callback) =>
        connector(target, (...result: Parameters<buildConnector.Callback>) => {
          if (result[0] === null) connection.watch(result[1]);
          callback(...result);
        }),
    });
    return connection;
  }

  /** @param handler as a pool passes it on */
  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    this.exchange = new CarriedExchange(handler as CalledHandler);
    return super.dispatch(options, this.exchange);
  }

  private watch(socket: Socket): void {
    const read = socket.read.bind(socket);
    socket.read = (size?: number): unknown => {
      const { exchange } = this;
      if (exchange?.isFull !== true) return read(size);
      exchange.onRoom = () => socket.emit('readable');
      return null;
    };
    socket.on('error', (error: NodeJS.ErrnoException) => {
      // undici takes a reset for the end of an answer without a length.
      if (error.code === 'ECONNRESET' && this.exchange?.hasResponse === true) error.code = BROKEN_OFF;
    });
  }
}

/** The methods that undici calls. A pool turns every other handler into one with these methods. */
interface CalledHandler {
  onConnect(abort: (error?: Error) => void): void;
  onResponseStarted?(): void;
  /** Returns false to pause, as `onData` does. */
  onHeaders(status: number, headers: Buffer[], resume: () => void, statusText: string): boolean;
  onData(chunk: Buffer): boolean;
  onComplete(trailers: string[] | null): void;
  onError(error: Error): void;
}

/** Passes on what undici calls, and never pauses undici. */
class CarriedExchange implements CalledHandler {
  /** True if the answer is read no further for now. */
  isFull = false;
  /** True from the head of the answer on. */
  hasResponse = false;
  /** Called when there is room for more of the answer. */
  onRoom = (): void => undefined;

  constructor(private readonly handler: CalledHandler) {}

  onConnect(abort: (error?: Error) => void): void {
    this.handler.onConnect(abort);
  }

  onResponseStarted(): void {
    this.handler.onResponseStarted?.();
  }

  onHeaders(status: number, headers: Buffer[], _resume: () => void, statusText: string): boolean {
    const goesOn = this.handler.onHeaders(status, headers, () => this.makeRoom(), statusText);
    if (status < FIRST_FINAL_STATUS) return true;
    this.hasResponse = true;
    this.isFull ||= !goesOn;
    return true;
  }

  onData(chunk: Buffer): boolean {
    this.isFull = !this.handler.onData(chunk);
    return true;
  }

  onComplete(trailers: string[] | null): void {
    this.isFull = false;
    this.handler.onComplete(trailers);
  }

  onError(error: Error): void {
    this.handler.onError(error);
  }

  private makeRoom(): void {
    if (!this.isFull) return;
    this.isFull = false;
    this.onRoom();
  }
}
