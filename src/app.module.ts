import { type DynamicModule, Module, type Type } from '@nestjs/common';
import { APP_FILTER, APP_GUARD, RouterModule } from '@nestjs/core';
import type { DestinationStream } from 'pino';
import { AccessModule } from './governance/access/access.module';
import { AgentsModule } from './governance/agents/agents.module';
import { ApiKeysModule } from './governance/api-keys/api-keys.module';
import { ApprovalsModule, ExecuteModule } from './governance/execute/execute.module';
import { AuthzenModule } from './governance/permissions/authzen/authzen.module';
import { AuditModule } from './evidence/audit/audit.module';
import { ConsoleModule } from './operations/console/console.module';
import { ChangesModule } from './governance/changes/changes.module';
import { CheckpointsModule } from './evidence/checkpoints/checkpoints.module';
import { ConfigurationModule } from './core/config/configuration.module';
import type { Environment } from './core/config/variables/variable';
import { DelegationsModule } from './governance/delegations/delegations.module';
import { DecisionFilesModule } from './evidence/decision-files/decision-files.module';
import { DecisionsModule } from './governance/decisions/decisions.module';
import { DirectoryModule, ScimModule } from './governance/directory/directory.module';
import { EntitiesModule } from './governance/entities/entities.module';
import { ErasuresModule } from './evidence/erasures/erasures.module';
import { EventsModule } from './evidence/events/events.module';
import { ExecutionsModule } from './governance/executions/executions.module';
import { ForwardAuthModule } from './governance/forward-auth/forward-auth.module';
import { HealthModule } from './operations/health/health.module';
import { FailedAuthentications } from './http/authentication/failed-authentications';
import { ApiKeyGuard } from './http/authentication/api-key.guard';
import { Authentication } from './http/authentication/authentication';
import { AllExceptionsFilter } from './http/fallback/exception.filter';
import { commonHeaders } from './http/responses/common-headers';
import { noteArrival } from './http/request/arrival';
import { AppThrottlerGuard } from './http/rate-limit/app-throttler.guard';
import { HttpModule } from './http/http.module';
import { SecondPersonGuard } from './governance/changes/second-person.guard';
import { RequestInputGuard } from './http/input/request-input.guard';
import { ShutdownGuard } from './http/server/shutdown';
import { LedgerModule } from './ledger/ledger.module';
import { LoggingModule } from './http/logging/logging.module';
import { MailModule } from './evidence/mail/mail.module';
import { MetricsModule } from './operations/metrics/metrics.module';
import { PasskeysModule } from './governance/passkeys/passkeys.module';
import { PermissionsModule } from './governance/permissions/permissions.module';
import { PermitsModule } from './governance/permits/permits.module';
import { PoliciesModule } from './governance/policies/policies.module';
import { PolicyPlansModule } from './governance/policy-plans/policy-plans.module';
import { ProvenanceModule } from './evidence/provenance/provenance.module';
import { ReportsModule } from './evidence/reports/reports.module';
import { SlackModule } from './evidence/slack/slack.module';
import { StopsModule } from './governance/stops/stops.module';
import { TokensModule } from './governance/tokens/tokens.module';
import { WebhooksModule } from './evidence/webhooks/webhooks.module';

/** A module of routes, which are served under `/api/v1`. */
export type FeatureModule = Type;

const FEATURE_MODULES: readonly FeatureModule[] = [
  EntitiesModule,
  AgentsModule,
  PasskeysModule,
  DelegationsModule,
  StopsModule,
  PoliciesModule,
  PermissionsModule,
  PolicyPlansModule,
  AccessModule,
  ExecuteModule,
  ExecutionsModule,
  DecisionsModule,
  ApprovalsModule,
  ApiKeysModule,
  AuditModule,
  EventsModule,
  WebhooksModule,
  SlackModule,
  MailModule,
  // Precedes the entries, whose route takes any word for a sequence.
  CheckpointsModule,
  ProvenanceModule,
  DecisionFilesModule,
  ErasuresModule,
  ReportsModule,
  DirectoryModule,
  HealthModule,
];

/** The middleware that Express runs for every request before routing, in this order. */
export const MIDDLEWARE = [noteArrival, commonHeaders()] as const;

/**
 * The providers that the guards share, and then what every request passes on its way to a controller, in this order.
 */
export const PIPELINE = [
  Authentication,
  FailedAuthentications,
  // This guard also notes the route's traits for the next ones.
  { provide: APP_GUARD, useClass: AppThrottlerGuard },
  { provide: APP_GUARD, useExisting: ShutdownGuard },
  { provide: APP_GUARD, useClass: ApiKeyGuard },
  // Reads the body, which Nest's body parser would do before the key is checked, and validates the DTOs.
  { provide: APP_GUARD, useClass: RequestInputGuard },
  // Runs once the request is known to be valid.
  { provide: APP_GUARD, useExisting: SecondPersonGuard },
  { provide: APP_FILTER, useClass: AllExceptionsFilter },
];

@Module({})
export class AppModule {
  /**
   * The application described by `AppOptions`: its environment or the process's, and its modules in addition to our
   * own.
   */
  static async forRoot(
    environment: Environment | undefined,
    extensions: readonly FeatureModule[],
    logStream?: DestinationStream,
  ): Promise<DynamicModule> {
    const features = [...FEATURE_MODULES, ...extensions];
    return {
      module: AppModule,
      imports: [
        await ConfigurationModule.forRoot(environment),
        LoggingModule.to(logStream),
        TokensModule,
        LedgerModule,
        ...features,
        RouterModule.register(features.map((module) => ({ path: 'api/v1', module }))),
        AuthzenModule,
        ScimModule,
        PermitsModule,
        ForwardAuthModule,
        MetricsModule,
        ConsoleModule,
        HttpModule,
        ChangesModule,
      ],
      providers: PIPELINE,
    };
  }
}
