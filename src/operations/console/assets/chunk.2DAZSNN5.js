import{l as e}from"./chunk.6CT553Z2.js";function n(r){return r!==null&&Date.parse(r)>e()}export{n as a};
