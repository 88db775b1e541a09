import { Injectable } from '@nestjs/common';
import type { OnModuleInit } from '@nestjs/common';
import { DiscoveryService, MetadataScanner } from '@nestjs/core';
import { actionsHandledBy } from './action-handler.decorator';
import type { ActionHandlerMethod } from './action-handler.decorator';

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
