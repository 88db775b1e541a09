import { Module } from '@nestjs/common';
import { LedgerModule } from '../../ledger/ledger.module';
import { Permits } from './permits';
import { PermitsController } from './permits.controller';

/** Issues tokens that prove an authorisation to other systems. Its routes are outside `/api/v1`. */
@Module({ imports: [LedgerModule], controllers: [PermitsController], providers: [Permits], exports: [Permits] })
export class PermitsModule {}
