import type { DiscoveryService, MetadataScanner } from '@nestjs/core';

/** A marked method of a provider. */
export interface MarkedMethod<Method> {
  readonly text: string;
  /** For people: `Mailer.send`. */
  readonly place: string;
  readonly call: Method;
}

type Callable = (...parameters: never[]) => unknown;

/** What a decorator such as `@ActionHandler('send-email')` leaves on the methods of providers: its texts. */
export class MethodMark<Method extends Callable> {
  private readonly key: symbol;

  constructor(private readonly name: string) {
    this.key = Symbol(name);
  }

  /** @param method undefined where the decorator stands on something else. */
  put(text: string, method: Method | undefined): void {
    if (method === undefined) throw new Error(`@${this.name}('${text}') belongs on a method.`);
    Reflect.defineMetadata(this.key, [text, ...this.textsOf(method)], method);
  }

  textsOf(method: Method): readonly string[] {
    return (Reflect.getMetadata(this.key, method) as readonly string[] | undefined) ?? [];
  }
}

/**
 * Every method with the mark, of any provider of any module. A provider that is registered under two tokens counts once.
 * @throws Error for a request-scoped provider, which does not exist when no request is served.
 */
export function markedMethods<Method extends Callable>(
  mark: MethodMark<Method>,
  discovery: DiscoveryService,
  scanner: MetadataScanner,
): MarkedMethod<Method>[] {
  const seen = new Set<object>();
  return discovery.getProviders().flatMap((provider) => {
    const instance: unknown = provider.instance;
    if (typeof instance !== 'object' || instance === null || seen.has(instance)) return [];
    seen.add(instance);
    const prototype = Object.getPrototypeOf(instance) as object | null;
    if (prototype === null || prototype === Object.prototype) return [];
    return scanner.getAllMethodNames(prototype).flatMap((name) => {
      const method = (prototype as Record<string, Method>)[name];
      if (method === undefined) return [];
      const place = `${instance.constructor.name}.${name}`;
      return mark.textsOf(method).map((text) => {
        if (!provider.isDependencyTreeStatic())
          throw new Error(`${place} is marked for "${text}", so its provider must not be request-scoped.`);
        return { text, place, call: method.bind(instance) as Method };
      });
    });
  });
}
