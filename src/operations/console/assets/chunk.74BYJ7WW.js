import{l as e}from"./chunk.QXJDE2TM.js";function n(r){return r!==null&&Date.parse(r)>e()}export{n as a};
