import { IncomingMessage } from 'node:http';

/** Requests that a server of this process has ended before their end. */
interface RequestEnds {
  readonly all: number;
  /** By an error of Node.js, which makes the text of its stack for each. */
  readonly byError: number;
}

type Destroy = (error?: Error) => IncomingMessage;

/** Watches how requests end, until the test has ended. Returns a function that counts those so far. */
export function watchEnds(): () => RequestEnds {
  const ends: (Error | undefined)[] = [];
  const destroy: unknown = Reflect.get(IncomingMessage.prototype, 'destroy');
  const spy = jest.spyOn(IncomingMessage.prototype, 'destroy');
  spy.mockImplementation(function (this: IncomingMessage, error?: Error) {
    if (!this.destroyed) ends.push(error);
    return Reflect.apply(destroy as Destroy, this, [error]);
  });
  return () => ({ all: ends.length, byError: ends.filter((error) => error !== undefined).length });
}
