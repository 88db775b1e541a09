import{a,b,c,d}from"./chunk.MR2EWGBQ.js";import"./chunk.CWN3CT6H.js";import"./chunk.35GLESCP.js";export{a as approvalOf,d as passkeysOf,c as registerPasskey,b as signedBy};
