import type { JsonObject } from '../../../core/json/json-value';
import type { Caller } from '../../../ledger/kinds/caller';
import type { OnBehalfOf } from '../../policies/patterns/principals';
import { Injectable, type OnModuleInit } from '@nestjs/common';
import { DiscoveryService, MetadataScanner } from '@nestjs/core';

const CODE = /^[a-z][a-z0-9_]{0,63}$/;

/**
 * Thrown by an action handler to fail the execution with a reason for the caller. The message is recorded for ever, so
 * it should be a sentence without secrets. Any other error is logged, and reported with a neutral sentence.
 */
export class ActionFailure extends Error {
  /** Code for machines: the `reason` of the audit entry that ends the execution. */
  readonly code: string | null;

  /**
   * @param code such as `mailbox_full`. Reasons are lower-case, so the code of a domain error becomes lower-case too.
   */
  constructor(message: string, code: string | null = null) {
    super(message);
    this.name = 'ActionFailure';
    this.code = code?.toLowerCase() ?? null;
    if (this.code !== null && !CODE.test(this.code))
      throw new Error(`The code ${this.code} of an ActionFailure must match ${CODE.source}.`);
  }
}

/** The execution as its handler sees it. */
export interface ActionContext {
  /** Caller that requested the execution, for the handler's own writes to the ledger. */
  readonly caller: Caller;
  readonly executionId: string;
  readonly agentId: string;
  readonly agentName: string;
  readonly action: string;
  readonly resourceType: string;
  readonly resourceId: string;
  readonly parameters: JsonObject;
  /** Null if the agent acts on nobody's behalf. */
  readonly onBehalfOf: OnBehalfOf | null;
  readonly run: string | null;
  /**
   * Aborted when nobody waits for the result any more: ACTION_TIMEOUT has passed, a stop covers the action, or the
   * service stops.
   */
  readonly signal: AbortSignal;
}

/** A handler, whose result must be JSON; undefined becomes null. If it throws, the execution is `failed`. */
export type ActionHandlerMethod = (context: ActionContext) => unknown;

/** A marked method of a provider. */
export interface MarkedMethod<Method> {
  readonly text: string;
  /** Class and method, such as `Mailer.send`, for messages. */
  readonly location: string;
  readonly call: Method;
}

type Callable = (...parameters: never[]) => unknown;

/** Decorators whose text, such as that of `@ActionHandler('send-email')`, is stored with the methods of providers. */
type MethodMark = 'ActionHandler' | 'ActionGuard';

/** @param method method; undefined if the decorator is on something else */
export function markMethod(mark: MethodMark, text: string, method: Callable | undefined): void {
  if (method === undefined) throw new Error(`@${mark}('${text}') belongs on a method.`);
  Reflect.defineMetadata(mark, [text, ...textsOn(method, mark)], method);
}

function textsOn(method: Callable, mark: MethodMark): readonly string[] {
  return (Reflect.getOwnMetadata(mark, method) as readonly string[] | undefined) ?? [];
}

/**
 * Returns every method with the mark, of any provider of any module. A provider that is registered under two tokens
 * counts once.
 * @throws Error for a request-scoped provider, which does not exist while no request is served
 */
export function markedMethods<Method extends Callable>(
  mark: MethodMark,
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
      const location = `${instance.constructor.name}.${name}`;
      return textsOn(method, mark).map((text) => {
        if (!provider.isDependencyTreeStatic())
          throw new Error(`${location} is marked for "${text}", so its provider must not be request-scoped.`);
        return { text, location, call: method.bind(instance) as Method };
      });
    });
  });
}

/**
 * Marks the provider method that carries out an action. It runs after the authorisation is on disk, at most once per
 * execution. Each action has at most one handler.
 */
export function ActionHandler(action: string) {
  return <Method extends ActionHandlerMethod>(
    _target: object,
    _name: string | symbol,
    method: TypedPropertyDescriptor<Method>,
  ): void => markMethod('ActionHandler', action, method.value);
}

/** Every method marked with `@ActionHandler`, in any module, by its action. */
@Injectable()
export class ActionHandlers implements OnModuleInit {
  private readonly handlers = new Map<string, MarkedMethod<ActionHandlerMethod>>();

  constructor(
    private readonly discovery: DiscoveryService,
    private readonly scanner: MetadataScanner,
  ) {}

  /** Fails the start if two methods handle the same action. */
  onModuleInit(): void {
    for (const handler of markedMethods<ActionHandlerMethod>('ActionHandler', this.discovery, this.scanner)) {
      const { text: action, location } = handler;
      const previous = this.handlers.get(action);
      if (previous !== undefined) {
        throw new Error(
          `The action "${action}" has two handlers: ${previous.location} and ${location}. Each action has at most one.`,
        );
      }
      this.handlers.set(action, handler);
    }
  }

  find(action: string): ActionHandlerMethod | undefined {
    return this.handlers.get(action)?.call;
  }
}
