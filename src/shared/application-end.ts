import type {
  BeforeApplicationShutdown,
  INestApplicationContext,
  OnApplicationShutdown,
  OnModuleDestroy,
} from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';

type Ending = Partial<OnModuleDestroy & BeforeApplicationShutdown & OnApplicationShutdown>;

const HOOKS = ['onModuleDestroy', 'beforeApplicationShutdown', 'onApplicationShutdown'] as const;

/** Calls to all hooks that end an application, in their order: where one throws, Nest itself calls none of the others. */
export function endingsOf(application: INestApplicationContext): (() => unknown)[] {
  const discovery = application.get(DiscoveryService);
  const made = [...discovery.getProviders(), ...discovery.getControllers()].filter(
    (each) => each.isDependencyTreeStatic() && !each.isTransient,
  );
  const instances = [...new Set(made.map(({ instance }): unknown => instance))].filter(isObject);
  return HOOKS.flatMap((hook) => instances.map((instance) => () => instance[hook]?.() as unknown));
}

function isObject(instance: unknown): instance is Ending {
  return typeof instance === 'object' && instance !== null;
}
