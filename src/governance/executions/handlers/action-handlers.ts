import type { JsonObject } from '../../../core/json/json-value';
import type { Caller } from '../../../ledger/caller';
import { Injectable, type OnModuleInit } from '@nestjs/common';
import { DiscoveryService, MetadataScanner } from '@nestjs/core';

const CODE = /^[A-Z][A-Z0-9_]{0,63}$/;

/**
 * Thrown by an action handler to fail the execution with a reason the caller may read. The message becomes part of the
 * permanent record, so it should be a sentence without secrets. Any other error is logged, and reported with a neutral
 * sentence.
 */
export class ActionFailure extends Error {
  /** @param code for machines, such as `MAILBOX_FULL`: recorded in the audit entry of the execution's end. */
  constructor(
    message: string,
    readonly code: string | null = null,
  ) {
    super(message);
    this.name = 'ActionFailure';
    if (code !== null && !CODE.test(code))
      throw new Error(`The code ${code} of an ActionFailure must match ${CODE.source}.`);
  }
}

/** What a handler learns about the execution it carries out. */
export interface ActionContext {
  /** Who asked for the execution: the caller to pass on when the handler writes through the ledger. */
  readonly caller: Caller;
  readonly executionId: string;
  readonly agentId: string;
  readonly agentName: string;
  readonly action: string;
  readonly resourceType: string;
  readonly resourceId: string;
  readonly parameters: JsonObject;
  /** Aborted when ACTION_TIMEOUT has passed or the service stops: nobody waits for the result any more. */
  readonly signal: AbortSignal;
}

/** The result must be JSON; undefined becomes null. If it throws, the execution is `failed`. */
export type ActionHandlerMethod = (context: ActionContext) => unknown;

const HANDLED_ACTIONS = Symbol('actions a method handles');

/**
 * Marks the provider method that carries out an action. It runs after the authorisation is on disk, at most once per
 * execution. Each action has at most one handler.
 */
export function ActionHandler(action: string) {
  return <Method extends ActionHandlerMethod>(
    _target: object,
    _name: string | symbol,
    method: TypedPropertyDescriptor<Method>,
  ): void => {
    if (method.value === undefined) throw new Error(`@ActionHandler('${action}') belongs on a method.`);
    Reflect.defineMetadata(HANDLED_ACTIONS, [action, ...actionsHandledBy(method.value)], method.value);
  };
}

export function actionsHandledBy(method: object): readonly string[] {
  return (Reflect.getMetadata(HANDLED_ACTIONS, method) as readonly string[] | undefined) ?? [];
}

interface RegisteredHandler {
  readonly instance: object;
  /** For people: `Mailer.send`. */
  readonly place: string;
  readonly run: ActionHandlerMethod;
}

/** Every method marked with `@ActionHandler`, in any module, by its action. */
@Injectable()
export class ActionHandlers implements OnModuleInit {
  private readonly handlers = new Map<string, RegisteredHandler>();

  constructor(
    private readonly discovery: DiscoveryService,
    private readonly scanner: MetadataScanner,
  ) {}

  /** Fails the start if two methods handle the same action. */
  onModuleInit(): void {
    for (const provider of this.discovery.getProviders()) {
      const instance: unknown = provider.instance;
      if (typeof instance !== 'object' || instance === null) continue;
      for (const { action, handler } of this.handlersOf(instance)) {
        if (!provider.isDependencyTreeStatic()) {
          throw new Error(
            `${handler.place} handles the action "${action}", so its provider must not be request-scoped.`,
          );
        }
        this.register(action, handler);
      }
    }
  }

  find(action: string): ActionHandlerMethod | undefined {
    return this.handlers.get(action)?.run;
  }

  private *handlersOf(instance: object): Generator<{ action: string; handler: RegisteredHandler }> {
    const prototype = Object.getPrototypeOf(instance) as object | null;
    if (prototype === null || prototype === Object.prototype) return;
    for (const name of this.scanner.getAllMethodNames(prototype)) {
      const method = (prototype as Record<string, ActionHandlerMethod>)[name];
      if (method === undefined) continue;
      const place = `${instance.constructor.name}.${name}`;
      for (const action of actionsHandledBy(method)) {
        yield { action, handler: { instance, place, run: (context) => method.call(instance, context) } };
      }
    }
  }

  private register(action: string, handler: RegisteredHandler): void {
    const previous = this.handlers.get(action);
    if (previous === undefined) {
      this.handlers.set(action, handler);
      return;
    }
    // A provider registered under two tokens is still one handler.
    if (previous.instance === handler.instance && previous.place === handler.place) return;
    throw new Error(
      `The action "${action}" has two handlers: ${previous.place} and ${handler.place}. Each action has at most one.`,
    );
  }
}
