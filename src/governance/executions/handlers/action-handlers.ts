import type { JsonObject } from '../../../core/json/json-value';
import type { Caller } from '../../../ledger/caller';
import type { OnBehalfOf } from '../../policies/patterns/principals';
import { Injectable, type OnModuleInit } from '@nestjs/common';
import { DiscoveryService, MetadataScanner } from '@nestjs/core';
import { type MarkedMethod, markedMethods, MethodMark } from './marked-methods';

const CODE = /^[a-z][a-z0-9_]{0,63}$/;

/**
 * Thrown by an action handler to fail the execution with a reason the caller may read. The message becomes part of the
 * permanent record, so it should be a sentence without secrets. Any other error is logged, and reported with a neutral
 * sentence.
 */
export class ActionFailure extends Error {
  /** For machines: the `reason` of the audit entry of the execution's end. */
  readonly code: string | null;

  /** @param code such as `mailbox_full`. Reasons are lower-case, so the code of a domain error becomes lower-case too. */
  constructor(message: string, code: string | null = null) {
    super(message);
    this.name = 'ActionFailure';
    this.code = code?.toLowerCase() ?? null;
    if (this.code !== null && !CODE.test(this.code))
      throw new Error(`The code ${this.code} of an ActionFailure must match ${CODE.source}.`);
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
  /** Null if the agent acts on nobody's behalf. */
  readonly onBehalfOf: OnBehalfOf | null;
  readonly run: string | null;
  /** Aborted when ACTION_TIMEOUT has passed, a stop covers the action, or the service stops: nobody waits for the result any more. */
  readonly signal: AbortSignal;
}

/** The result must be JSON; undefined becomes null. If it throws, the execution is `failed`. */
export type ActionHandlerMethod = (context: ActionContext) => unknown;

const HANDLES = new MethodMark<ActionHandlerMethod>('ActionHandler');

/**
 * Marks the provider method that carries out an action. It runs after the authorisation is on disk, at most once per
 * execution. Each action has at most one handler.
 */
export function ActionHandler(action: string) {
  return <Method extends ActionHandlerMethod>(
    _target: object,
    _name: string | symbol,
    method: TypedPropertyDescriptor<Method>,
  ): void => HANDLES.put(action, method.value);
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
    for (const handler of markedMethods(HANDLES, this.discovery, this.scanner)) {
      const { text: action, place } = handler;
      const previous = this.handlers.get(action);
      if (previous !== undefined) {
        throw new Error(
          `The action "${action}" has two handlers: ${previous.place} and ${place}. Each action has at most one.`,
        );
      }
      this.handlers.set(action, handler);
    }
  }

  find(action: string): ActionHandlerMethod | undefined {
    return this.handlers.get(action)?.call;
  }
}
